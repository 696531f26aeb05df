/** Restores batch jobs with their files. A job with damaged files gets them from the backup, or continues from its state in the backup. */
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../../../util/files/sync-folder.ts';
import { transaction } from '../../../sqlite/transaction.ts';
import { defectOf } from '../check/batch-check.ts';
import type { Row } from '../check/tables.ts';
import { BatchRows, type BatchRow } from '../../batches/batch-rows.ts';
import { storedLines } from '../../batches/result-stream.ts';
import { hasEnded } from '../../batches/states.ts';
import { copyFirst } from '../export/backup-batch-files.ts';
import type { Store } from '../../store/store.ts';

export interface RestoredBatches {
  /** The number of files copied from the backup. */
  readonly files: number;
  /** Jobs that continue from their state in the backup, with the credits refunded for the repeated lines. */
  readonly setBack: readonly { readonly id: string; readonly fromLine: number; readonly lines: number; readonly credits: number }[];
  /** Jobs whose files are lost. */
  readonly lost: readonly string[];
}

interface FileRow {
  readonly kind: 'part' | 'results';
  readonly n: number;
  readonly file: string;
  readonly bytes: number;
}

interface Restored {
  readonly keys: ReadonlySet<string>;
  readonly jobs: ReadonlySet<string>;
}

/** A copy to be made once every job is decided. */
type Copy = FileRow & { readonly id: string };

/** The opened backup. */
export interface BackupOf {
  readonly path: string;
  readonly store: Store;
}

/**
 * Restores the files of every batch job.
 * @param path path of the store that is restored
 * @param fresh the new store
 * @param restored ids of the keys and jobs whose rows are from the backup
 */
export async function restoreBatches(
  fresh: Store,
  path: string,
  backup: BackupOf | null,
  restored: Restored,
  signal: AbortSignal,
): Promise<RestoredBatches> {
  const rows = new BatchRows(fresh, Date.now);
  const copies: Copy[] = [];
  const setBack: RestoredBatches['setBack'][number][] = [];
  const lost: string[] = [];
  const ids = fresh.books
    .prepare('SELECT id FROM batches ORDER BY seq')
    .all()
    .map(({ id }) => id as string);
  for (const id of ids) {
    signal.throwIfAborted();
    const isOfBackup = restored.jobs.has(id);
    const found = rows.find(id) as BatchRow;
    // Its results are newer than its row. Without this, it would write lines a second time.
    const row = isOfBackup ? await asFarAsResults(fresh, found, path) : found;
    const copied = isOfBackup ? null : await copiesFor(fresh, row, path, backup);
    if (copied !== null) {
      copies.push(...copied);
      continue;
    }
    const before = backup === null ? null : new BatchRows(backup.store, Date.now).find(id);
    const again = before === null || backup === null ? null : await copiesFor(backup.store, before, path, backup);
    if (before === null || backup === null || again === null) {
      lost.push(id);
      continue;
    }
    copies.push(...again);
    const back = rollBackJob(fresh, backup.store, row, before, restored.keys.has(row.keyId));
    // A job without progress since the backup is simply restored.
    if (!isOfBackup || back.lines > 0) setBack.push(back);
  }
  for (const copy of copies) await restoreFile(copy, path, (backup as BackupOf).path, signal);
  return { files: copies.length, setBack, lost };
}

/**
 * The files of a job, in the state that `store` has, that must be copied. Null when a file is intact in neither place, or `store` does not
 * name every file.
 */
async function copiesFor(store: Store, row: BatchRow, path: string, backup: BackupOf | null): Promise<Copy[] | null> {
  const files = store.books.prepare('SELECT kind, n, file, bytes FROM batch_files WHERE batch = ?').all(row.seq) as unknown as FileRow[];
  const parts = files.filter(({ kind }) => kind === 'part').length;
  if (row.position.line > 0 && parts === files.length) return null;
  if (!hasEnded(row.state) && parts !== row.parts.count) return null;
  const copies: Copy[] = [];
  for (const file of files) {
    if ((await defectOf(join(`${path}.batches`, row.id, file.file), file)) === null) continue;
    if (backup === null || (await defectOf(join(`${backup.path}.batches`, row.id, file.file), file)) !== null) return null;
    copies.push({ ...file, id: row.id });
  }
  return copies;
}

/** Sets a job back. The lines since then are done again, so their charge is refunded. The backup's books do not contain that charge. */
function rollBackJob(
  { books: fresh }: Store,
  { books: backup }: Store,
  { seq, id, keyId, credits, counts, position }: BatchRow,
  before: BatchRow,
  hasBooksOfBackup: boolean,
): RestoredBatches['setBack'][number] {
  const again = hasBooksOfBackup ? 0 : Math.max(0, credits - before.credits);
  const calls = hasBooksOfBackup ? 0 : Math.max(0, callsOf(counts) - callsOf(before.counts));
  transaction(fresh, () => {
    const book = backup.prepare('SELECT * FROM batches WHERE id = ?').get(id) as Row;
    const columns = Object.keys(book).filter((name) => name !== 'seq');
    fresh
      .prepare(`UPDATE batches SET ${columns.map((name) => `"${name}" = ?`).join(', ')} WHERE seq = ?`)
      .run(...columns.map((name) => book[name] as string | number | null), seq);
    fresh.prepare('UPDATE batches SET looked_at = NULL WHERE seq = ?').run(seq);
    fresh.prepare('DELETE FROM batch_files WHERE batch = ?').run(seq);
    const add = fresh.prepare('INSERT INTO batch_files (batch, kind, n, file, bytes) VALUES (?, ?, ?, ?, ?)');
    for (const { kind, n, file, bytes } of backup
      .prepare('SELECT kind, n, file, bytes FROM batch_files WHERE batch = ?')
      .all(before.seq) as unknown as FileRow[])
      add.run(seq, kind, n, file, bytes);
    fresh
      .prepare('UPDATE keys SET credits_used = max(0, credits_used - ?), calls_used = max(0, calls_used - ?) WHERE id = ?')
      .run(again, calls, keyId);
  });
  return { id, fromLine: before.position.line + 1, lines: position.line - before.position.line, credits: again };
}

/** The state of a job by its result file, as far as that is readable. */
async function asFarAsResults(store: Store, row: BatchRow, path: string): Promise<BatchRow> {
  const files = store.books
    .prepare("SELECT file, bytes FROM batch_files WHERE batch = ? AND kind = 'results' ORDER BY n")
    .all(row.seq) as unknown as FileRow[];
  const counts = { succeeded: 0, not_found: 0, failed: 0, unprocessed: 0 };
  let [line, credits] = [0, 0];
  try {
    for (const { file, bytes } of files) {
      for await (const lines of storedLines(await open(join(`${path}.batches`, row.id, file), 'r'), bytes)) {
        for (const { json } of lines) {
          const result = JSON.parse(json) as { readonly line: number; readonly status: keyof typeof counts; readonly credits: number };
          counts[result.status]++;
          [line, credits] = [result.line, credits + result.credits];
        }
      }
    }
  } catch {
    // An unreadable line proves no charge.
  }
  return line <= row.position.line ? row : { ...row, counts, credits, position: { ...row.position, line } };
}

/** Each completed line counts as one call. */
function callsOf({ succeeded, not_found: notFound, failed }: BatchRow['counts']): number {
  return succeeded + notFound + failed;
}

/** Copies a file from the backup. A damaged file at its path is renamed beside it, and the service removes it in time. */
async function restoreFile({ id, file, bytes }: Copy, path: string, from: string, signal: AbortSignal): Promise<void> {
  const target = join(`${path}.batches`, id, file);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await copyFirst(join(`${from}.batches`, id, file), `${target}.partial`, bytes, signal);
  await rename(target, `${target}.damaged`).catch(() => undefined);
  await rename(`${target}.partial`, target);
  await syncFolder(dirname(target));
}
