/** What is done now and then: jobs that were left open expire, those that have ended long ago are forgotten, and whoever was erased is taken out of the results that lie there. */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import type { BatchRow, BatchRows } from './batch-rows.ts';
import { cutter } from './erased.ts';
import type { BatchFolder } from './folder.ts';
import { KEPT_MS, OPEN_MS } from './limits.ts';
import { keptLines } from './results.ts';
import { hasEnded } from './states.ts';
import { writeWhenFree, type Writing } from './writing.ts';

export interface TidyOptions extends Writing {
  readonly rows: BatchRows;
  readonly folder: BatchFolder;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/** @throws what the disk or the store says */
export async function tidyUp(options: TidyOptions): Promise<void> {
  const { rows, folder, now } = options;
  const { expired, old } = rows.overdue(now() - OPEN_MS, now() - KEPT_MS);
  for (const row of expired) {
    const files = rows.files.all(row, 'part');
    const done = await writeWhenFree(options, () => {
      if (rows.find(row.id)?.state !== 'open') return false;
      rows.move(row, 'expired');
      rows.files.retireParts(row);
      return true;
    });
    if (done) for (const { file } of files) await folder.remove(row.id, file);
  }
  for (const row of old) {
    await writeWhenFree(options, () => rows.drop(row));
    await folder.removeJob(row.id);
  }
  let failure: unknown = null;
  // A job whose results cannot be read or written anew keeps no other from losing whoever was erased.
  for (const row of rows.toLookThrough()) await takeOutErased(options, row).catch((error: unknown) => (failure ??= error));
  await folder.removeStrays((id) => {
    const row = rows.find(id);
    return row === null ? null : new Set([...rows.files.all(row, 'part'), ...rows.files.all(row, 'results')].map(({ file }) => file));
  }, now());
  if (failure !== null) throw failure;
}

/** Writes the results of a job anew without whoever was erased since it was begun. Who reads them meanwhile has the old file to its end, and leaves out the same. */
async function takeOutErased(options: TidyOptions, row: BatchRow): Promise<void> {
  const { store, rows, folder, now, stopped } = options;
  // While nobody writes: who is being erased at this moment is so later than this, and is looked for again.
  const atMs = await writeWhenFree(options, now);
  const cut = cutter(store)(row.createdMs);
  if (cut === null) return;
  let erased = 0;
  for (const results of rows.files.all(row, 'results')) {
    const path = folder.at(row.id, results.file);
    // What a backup has left out names nobody.
    if (!existsSync(path)) continue;
    const { file, handle } = await folder.create(row.id, 'results');
    let unneeded: string | null = file;
    try {
      let changed = 0;
      let bytes = 0;
      for await (const lines of keptLines(await open(path, 'r'), results.bytes)) {
        if (stopped()) return;
        const texts = lines.map((kept) => {
          const instead = cut(kept);
          if (instead === null) return kept.text;
          changed++;
          if (instead.isErased) erased++;
          return instead.text;
        });
        const written = Buffer.from(texts.join(''));
        // `write` may write a part of it, where the disk is nearly full.
        await handle.writeFile(written);
        bytes += written.length;
      }
      await handle.datasync();
      if (changed > 0) unneeded = await writeWhenFree(options, () => (isThere(rows, row) ? rows.files.put(row, 'results', { n: results.n, file, bytes }) : file));
    } finally {
      await handle.close();
      if (unneeded !== null) await folder.remove(row.id, unneeded);
    }
  }
  await writeWhenFree(options, () => {
    if (isThere(rows, row)) rows.lookedThrough(row, atMs, erased);
  });
}

function isThere(rows: BatchRows, { id }: BatchRow): boolean {
  const row = rows.find(id);
  return row !== null && hasEnded(row.state);
}
