/** What is done now and then: jobs that were left open expire, those that were left paused are cancelled, those that have ended long ago are forgotten, and whoever was erased is taken out of the results that lie there. */
import { open } from 'node:fs/promises';
import type { BatchFile } from './batch-files.ts';
import type { BatchRow, BatchRows, Reason } from './batch-rows.ts';
import { cutter, type Cut } from './erased.ts';
import { FileCut, type BatchFolder } from './folder.ts';
import { KEPT_MS, OPEN_MS, PAUSED_MS } from './limits.ts';
import type { Pacer } from './pacer.ts';
import type { Kept } from './result-lines.ts';
import { keptLines } from './results.ts';
import { hasEnded } from './states.ts';
import { writeWhenFree, type Writing } from './writing.ts';

export interface TidyOptions extends Writing {
  readonly rows: BatchRows;
  readonly folder: BatchFolder;
  readonly pacer: Pacer;
  /** Whether what a paused job waits for is not there yet. */
  readonly waits: (row: BatchRow) => boolean;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

const PAUSED_TOO_LONG: Reason = { code: 'paused_too_long', detail: 'the job was paused for 30 days, and nobody had it go on' };

/** @throws what the disk or the store has said of one job or another: it keeps no other from its due, least of all from losing whoever was erased */
export async function tidyUp(options: TidyOptions): Promise<void> {
  const { rows, folder, now, stopped } = options;
  const nowMs = now();
  const { expired, stuck, old } = rows.overdue({ openedUpToMs: nowMs - OPEN_MS, pausedUpToMs: nowMs - PAUSED_MS, endedUpToMs: nowMs - KEPT_MS });
  let failure: unknown = null;
  const each = async (jobs: readonly BatchRow[], work: (options: TidyOptions, row: BatchRow) => Promise<void>): Promise<void> => {
    // There may be thousands, for which whoever stops would be waited for.
    for (const row of jobs) if (!stopped()) await work(options, row).catch((error: unknown) => (failure ??= error));
  };
  await each(expired, expire);
  await each(stuck, cancel);
  await each(old, forget);
  await each(rows.toLookThrough(), takeOutErased);
  if (!stopped()) await folder.removeStrays((id) => {
    const row = rows.find(id);
    return row === null ? null : new Set([...rows.files.all(row, 'part'), ...rows.files.all(row, 'results')].map(({ file }) => file));
  }, now());
  if (failure !== null) throw failure;
}

async function expire(options: TidyOptions, row: BatchRow): Promise<void> {
  const { rows, folder } = options;
  const files = rows.files.all(row, 'part');
  const done = await writeWhenFree(options, () => {
    if (rows.find(row.id)?.state !== 'open') return false;
    rows.move(row, 'expired');
    rows.files.retireParts(row);
    return true;
  });
  if (done) await folder.retire(row.id, files.map(({ file }) => file));
}

/** As its key might: what it has done can be fetched, for as long as that of any job. Not one that may go on, which its key has seen to: another job of the key may have kept it from its turn, or there was no service. */
async function cancel(options: TidyOptions, { id, times }: BatchRow): Promise<void> {
  const { rows, waits } = options;
  await writeWhenFree(options, () => {
    const row = rows.find(id);
    if (row?.state === 'paused' && row.times.paused === times.paused && waits(row)) rows.move(row, 'cancelling', PAUSED_TOO_LONG);
  });
}

/** First its files: who is killed in between does it again. */
async function forget(options: TidyOptions, row: BatchRow): Promise<void> {
  await options.folder.removeJob(row.id);
  await writeWhenFree(options, () => options.rows.drop(row));
}

/** Writes the results of a job anew without whoever was erased since it was begun. Who reads them meanwhile has the old file to its end, and leaves out the same. */
async function takeOutErased(options: TidyOptions, row: BatchRow): Promise<void> {
  const { store, rows, folder, stopped } = options;
  // While nobody writes: who is being erased at this moment is so later than this, and is looked for again.
  const atMs = await writeWhenFree(options, () => rows.afterErasures());
  const cut = cutter(store)(row.createdMs);
  if (cut === null) return;
  for (const results of rows.files.all(row, 'results')) {
    // Nearly all name nobody who was erased, and are read alone.
    if ((await keepWhole(folder, row, results)) && (await isAnyCut(options, row, results, cut))) await rewrite(options, row, results, cut);
    if (stopped()) return;
  }
  await writeWhenFree(options, () => {
    if (isThere(rows, row)) rows.lookedThrough(row, atMs);
  });
}

/** Leaves of a file what counts of it, and says that it is there. One that is shorter is removed: of such a job nobody can read any results, and whoever was erased may be in what is left. */
async function keepWhole(folder: BatchFolder, { id }: BatchRow, { file, bytes }: BatchFile): Promise<boolean> {
  try {
    await folder.cut(id, file, bytes);
    return true;
  } catch (error) {
    if (!(error instanceof FileCut) && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    await folder.remove(id, file);
    return false;
  }
}

async function isAnyCut(options: TidyOptions, row: BatchRow, results: BatchFile, cut: Cut): Promise<boolean> {
  for await (const lines of cutLines(options, row, results, cut)) if (options.stopped() || lines.some(({ instead }) => instead !== null)) return !options.stopped();
  return false;
}

/** Puts another file in the place of this one, and counts who is not in it any more, in one transaction. */
async function rewrite(options: TidyOptions, row: BatchRow, results: BatchFile, cut: Cut): Promise<void> {
  const { rows, folder, stopped } = options;
  const { file, handle } = await folder.create(row.id, 'results');
  let unneeded: string | null = file;
  try {
    let erased = 0;
    let bytes = 0;
    for await (const lines of cutLines(options, row, results, cut)) {
      if (stopped()) return;
      erased += lines.filter(({ instead }) => instead?.isErased === true).length;
      const written = Buffer.from(lines.map(({ kept, instead }) => (instead ?? kept).text).join(''));
      // `write` may write a part of it, where the disk is nearly full.
      await handle.writeFile(written);
      bytes += written.length;
    }
    await handle.datasync();
    unneeded = await writeWhenFree(options, () => {
      // Another process may have put one there meanwhile, and counted the same people.
      if (!isThere(rows, row) || !rows.files.all(row, 'results').some((now) => now.file === results.file)) return file;
      rows.countErased(row, erased);
      return rows.files.put(row, 'results', { n: results.n, file, bytes });
    });
  } finally {
    await handle.close();
    if (unneeded !== null) await folder.retire(row.id, [unneeded]);
  }
}

/** The lines of a file, some at a time and in slices of the thread, each with what is to be kept of it; null: itself. */
async function* cutLines({ folder, pacer }: TidyOptions, row: BatchRow, { file, bytes }: BatchFile, cut: Cut): AsyncGenerator<{ readonly kept: Kept; readonly instead: ReturnType<Cut> }[]> {
  for await (const lines of keptLines(await open(folder.at(row.id, file), 'r'), bytes)) {
    const done: { readonly kept: Kept; readonly instead: ReturnType<Cut> }[] = [];
    await pacer.work(() => {
      const kept = lines[done.length];
      if (kept !== undefined) done.push({ kept, instead: cut(kept) });
      return done.length >= lines.length;
    });
    yield done;
  }
}

function isThere(rows: BatchRows, { id }: BatchRow): boolean {
  const row = rows.find(id);
  return row !== null && hasEnded(row.state);
}
