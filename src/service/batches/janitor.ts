/** The janitor of batch jobs: expires open ones, cancels paused ones, deletes old ones, and redacts erased people from stored results. */
import { open } from 'node:fs/promises';
import type { BatchFile } from './batch-files.ts';
import type { BatchRow, BatchRows, Reason } from './batch-rows.ts';
import { redactorOf, type Redact } from './redact-results.ts';
import { FileTruncated, type BatchFolder } from './batch-folder.ts';
import { OPEN_MS, PAUSED_MS, RETENTION_MS } from './batch-limits.ts';
import type { Scheduler } from './scheduler.ts';
import type { StoredLine } from './result-lines.ts';
import { storedLines } from './result-stream.ts';
import { hasEnded } from './states.ts';
import { writeWhenFree, type WriteOptions } from './write-when-free.ts';

export interface JanitorOptions extends WriteOptions {
  readonly rows: BatchRows;
  readonly folder: BatchFolder;
  readonly scheduler: Scheduler;
  /** Whether a paused job still lacks what it waits for. */
  readonly waits: (row: BatchRow) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const PAUSED_TOO_LONG: Reason = { code: 'paused_too_long', detail: 'the job was paused for 30 days, and nobody had it go on' };

/** Runs once over all jobs. @throws the first error of a job, after all other jobs were handled */
export async function runJanitor(options: JanitorOptions): Promise<void> {
  const { rows, folder, now, stopped } = options;
  const nowMs = now();
  const { expired, stuck, old } = rows.overdue({
    openedUpToMs: nowMs - OPEN_MS,
    pausedUpToMs: nowMs - PAUSED_MS,
    endedUpToMs: nowMs - RETENTION_MS,
  });
  let failure: unknown = null;
  const each = async (jobs: readonly BatchRow[], work: (options: JanitorOptions, row: BatchRow) => Promise<void>): Promise<void> => {
    // There may be thousands of jobs, and a stop must not wait for all of them.
    for (const row of jobs) if (!stopped()) await work(options, row).catch((error: unknown) => (failure ??= error));
  };
  await each(expired, expire);
  await each(stuck, cancel);
  await each(old, remove);
  await each(rows.toRedact(), redactErased);
  if (!stopped())
    await folder.removeStrays((id) => {
      const row = rows.find(id);
      return row === null ? null : new Set([...rows.files.all(row, 'part'), ...rows.files.all(row, 'results')].map(({ file }) => file));
    }, now());
  if (failure !== null) throw failure;
}

async function expire(options: JanitorOptions, row: BatchRow): Promise<void> {
  const { rows, folder } = options;
  const files = rows.files.all(row, 'part');
  const isExpired = await writeWhenFree(options, () => {
    if (rows.find(row.id)?.state !== 'open') return false;
    rows.move(row, 'expired');
    rows.files.retireParts(row);
    return true;
  });
  if (isExpired)
    await folder.retire(
      row.id,
      files.map(({ file }) => file),
    );
}

/** Cancels a job that was paused too long, so that its finished lines can be read. A job that could continue now is left alone. */
async function cancel(options: JanitorOptions, { id, times }: BatchRow): Promise<void> {
  const { rows, waits } = options;
  await writeWhenFree(options, () => {
    const row = rows.find(id);
    if (row?.state === 'paused' && row.times.paused === times.paused && waits(row)) rows.move(row, 'cancelling', PAUSED_TOO_LONG);
  });
}

/** Deletes a job: the files first, so that the step is repeated after a crash. */
async function remove(options: JanitorOptions, row: BatchRow): Promise<void> {
  await options.folder.removeJob(row.id);
  await writeWhenFree(options, () => options.rows.drop(row));
}

/** Removes people from a job's results who were erased since it began. Readers of the old file redact the same people. */
async function redactErased(options: JanitorOptions, row: BatchRow): Promise<void> {
  const { store, rows, folder, stopped } = options;
  // The transaction orders this time before an erasure that is under way, so the next run finds that erasure.
  const atMs = await writeWhenFree(options, () => rows.afterErasures());
  const redact = redactorOf(store)(row.createdMs);
  if (redact === null) return;
  for (const results of rows.files.all(row, 'results')) {
    // Nearly all files name no erased person, and are only read.
    if ((await truncateToCommitted(folder, row, results)) && (await needsRewrite(options, row, results, redact)))
      await rewrite(options, row, results, redact);
    if (stopped()) return;
  }
  await writeWhenFree(options, () => {
    if (isStillStored(rows, row)) rows.setRedacted(row, atMs);
  });
}

/** Truncates a file to its committed bytes. Returns false after it removed a shorter one, which may name erased people. */
async function truncateToCommitted(folder: BatchFolder, { id }: BatchRow, { file, bytes }: BatchFile): Promise<boolean> {
  try {
    await folder.truncateTo(id, file, bytes);
    return true;
  } catch (error) {
    if (!(error instanceof FileTruncated) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await folder.remove(id, file);
    return false;
  }
}

async function needsRewrite(options: JanitorOptions, row: BatchRow, results: BatchFile, redact: Redact): Promise<boolean> {
  for await (const lines of redactedLines(options, row, results, redact))
    if (options.stopped() || lines.some(({ redacted }) => redacted !== null)) return !options.stopped();
  return false;
}

/** Replaces a results file by a redacted one, and counts the redacted lines, in one transaction. */
async function rewrite(options: JanitorOptions, row: BatchRow, results: BatchFile, redact: Redact): Promise<void> {
  const { rows, folder, stopped } = options;
  const { file, handle } = await folder.create(row.id, 'results');
  let unneeded: string | null = file;
  try {
    let erased = 0;
    let bytes = 0;
    for await (const lines of redactedLines(options, row, results, redact)) {
      if (stopped()) return;
      erased += lines.filter(({ redacted }) => redacted?.isErased === true).length;
      const written = Buffer.from(lines.map(({ stored, redacted }) => (redacted ?? stored).text).join(''));
      // `write` may write only a part of the bytes on a nearly full disk.
      await handle.writeFile(written);
      bytes += written.length;
    }
    await handle.datasync();
    unneeded = await writeWhenFree(options, () => {
      // Another process may have replaced the file meanwhile, and counted the same lines.
      if (!isStillStored(rows, row) || !rows.files.all(row, 'results').some((current) => current.file === results.file)) return file;
      rows.countErased(row, erased);
      return rows.files.put(row, 'results', { n: results.n, file, bytes });
    });
  } finally {
    await handle.close();
    if (unneeded !== null) await folder.retire(row.id, [unneeded]);
  }
}

/** The lines of a file in batches, each with its redacted form, which is null for an unchanged line. */
async function* redactedLines(
  { folder, scheduler }: JanitorOptions,
  row: BatchRow,
  { file, bytes }: BatchFile,
  redact: Redact,
): AsyncGenerator<{ readonly stored: StoredLine; readonly redacted: ReturnType<Redact> }[]> {
  for await (const lines of storedLines(await open(folder.at(row.id, file), 'r'), bytes)) {
    const done: { readonly stored: StoredLine; readonly redacted: ReturnType<Redact> }[] = [];
    await scheduler.run(() => {
      const stored = lines[done.length];
      if (stored !== undefined) done.push({ stored, redacted: redact(stored) });
      return done.length >= lines.length;
    });
    yield done;
  }
}

function isStillStored(rows: BatchRows, { id }: BatchRow): boolean {
  const row = rows.find(id);
  return row !== null && hasEnded(row.state);
}
