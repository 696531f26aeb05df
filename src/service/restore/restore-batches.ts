/** Batch jobs with their files: a job whose files are damaged gets them from the backup, or goes on from where the backup has it. */
import { mkdir, open, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../../storage/sync-folder.ts';
import { transaction } from '../../sqlite/transaction.ts';
import { wrongWith } from '../check/batch-check.ts';
import type { Row } from '../check/tables.ts';
import { BatchRows, type BatchRow } from '../batches/batch-rows.ts';
import { keptLines } from '../batches/results.ts';
import { hasEnded } from '../batches/states.ts';
import { copyFirst } from '../export/batch-files.ts';
import type { Store } from '../store/store.ts';

export interface Batches {
  /** Files that were copied from the backup. */
  readonly files: number;
  /** Jobs that go on from where the backup has them, and the credits that were given back for what they do again. */
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

export interface Restored {
  readonly keys: ReadonlySet<string>;
  readonly jobs: ReadonlySet<string>;
}

/** A copy that is to be made once all is decided. */
type Copy = FileRow & { readonly id: string };

/** Null: there is no backup. */
export interface BackupOf {
  readonly path: string;
  readonly store: Store;
}

/** @param path of the store that is restored @param fresh what takes its place @param restored ids of the keys and jobs whose rows are those of the backup */
export async function restoreBatches(fresh: Store, path: string, backup: BackupOf | null, restored: Restored, signal: AbortSignal): Promise<Batches> {
  const rows = new BatchRows(fresh, Date.now);
  const copies: Copy[] = [];
  const setBack: Batches['setBack'][number][] = [];
  const lost: string[] = [];
  const ids = fresh.prepare('SELECT id FROM batches ORDER BY seq').all().map(({ id }) => id as string);
  for (const id of ids) {
    signal.throwIfAborted();
    const isOfBackup = restored.jobs.has(id);
    const found = rows.find(id) as BatchRow;
    // Its results are newer than its row: without that it would write lines a second time.
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
    const back = putBack(fresh, backup.store, row, before, restored.keys.has(row.keyId));
    // The row of a job that has done nothing since is merely there again.
    if (!isOfBackup || back.lines > 0) setBack.push(back);
  }
  for (const copy of copies) await bring(copy, path, (backup as BackupOf).path, signal);
  return { files: copies.length, setBack, lost };
}

/** The files of a job as a store has it that must be copied to be whole; null: some are whole nowhere, or the store does not name all of them. */
async function copiesFor(store: Store, row: BatchRow, path: string, backup: BackupOf | null): Promise<Copy[] | null> {
  const files = store.prepare('SELECT kind, n, file, bytes FROM batch_files WHERE batch = ?').all(row.seq) as unknown as FileRow[];
  const parts = files.filter(({ kind }) => kind === 'part').length;
  if (row.place.line > 0 && parts === files.length) return null;
  if (!hasEnded(row.state) && parts !== row.parts.count) return null;
  const copies: Copy[] = [];
  for (const file of files) {
    if ((await wrongWith(join(`${path}.batches`, row.id, file.file), file)) === null) continue;
    if (backup === null || (await wrongWith(join(`${backup.path}.batches`, row.id, file.file), file)) !== null) return null;
    copies.push({ ...file, id: row.id });
  }
  return copies;
}

/** What was done since is done again, so that what was charged for it is given back; books of the backup know nothing of it. */
function putBack(fresh: Store, backup: Store, { seq, id, keyId, credits, counts, place }: BatchRow, before: BatchRow, hasBooksOfBackup: boolean): Batches['setBack'][number] {
  const again = hasBooksOfBackup ? 0 : Math.max(0, credits - before.credits);
  const calls = hasBooksOfBackup ? 0 : Math.max(0, callsOf(counts) - callsOf(before.counts));
  transaction(fresh, () => {
    const book = backup.prepare('SELECT * FROM batches WHERE id = ?').get(id) as Row;
    const columns = Object.keys(book).filter((name) => name !== 'seq');
    fresh.prepare(`UPDATE batches SET ${columns.map((name) => `"${name}" = ?`).join(', ')} WHERE seq = ?`).run(...columns.map((name) => book[name] as string | number | null), seq);
    fresh.prepare('UPDATE batches SET looked_at = NULL WHERE seq = ?').run(seq);
    fresh.prepare('DELETE FROM batch_files WHERE batch = ?').run(seq);
    const add = fresh.prepare('INSERT INTO batch_files (batch, kind, n, file, bytes) VALUES (?, ?, ?, ?, ?)');
    for (const { kind, n, file, bytes } of backup.prepare('SELECT kind, n, file, bytes FROM batch_files WHERE batch = ?').all(before.seq) as unknown as FileRow[]) add.run(seq, kind, n, file, bytes);
    fresh.prepare('UPDATE keys SET credits_used = max(0, credits_used - ?), calls_used = max(0, calls_used - ?) WHERE id = ?').run(again, calls, keyId);
  });
  return { id, fromLine: before.place.line + 1, lines: place.line - before.place.line, credits: again };
}

/** A job as its results tell of it, as far as they can be read. */
async function asFarAsResults(store: Store, row: BatchRow, path: string): Promise<BatchRow> {
  const files = store.prepare("SELECT file, bytes FROM batch_files WHERE batch = ? AND kind = 'results' ORDER BY n").all(row.seq) as unknown as FileRow[];
  const counts = { succeeded: 0, not_found: 0, failed: 0, unprocessed: 0 };
  let [line, credits] = [0, 0];
  try {
    for (const { file, bytes } of files) {
      for await (const lines of keptLines(await open(join(`${path}.batches`, row.id, file), 'r'), bytes)) {
        for (const { json } of lines) {
          const told = JSON.parse(json) as { readonly line: number; readonly status: keyof typeof counts; readonly credits: number };
          counts[told.status]++;
          [line, credits] = [told.line, credits + told.credits];
        }
      }
    }
  } catch {
    // What cannot be read tells of nothing that was paid for.
  }
  return line <= row.place.line ? row : { ...row, counts, credits, place: { ...row.place, line } };
}

/** Each line that was worked on is a call. */
function callsOf({ succeeded, not_found: notFound, failed }: BatchRow['counts']): number {
  return succeeded + notFound + failed;
}

/** What stands in the place is kept beside it, for the service to remove in time. */
async function bring({ id, file, bytes }: Copy, path: string, from: string, signal: AbortSignal): Promise<void> {
  const place = join(`${path}.batches`, id, file);
  await mkdir(dirname(place), { recursive: true, mode: 0o700 });
  await copyFirst(join(`${from}.batches`, id, file), `${place}.partial`, bytes, signal);
  await rename(place, `${place}.damaged`).catch(() => undefined);
  await rename(`${place}.partial`, place);
  await syncFolder(dirname(place));
}
