import { MS_PER_DAY } from '../reuse.ts';
import type { SharedTotals, WorkingFile } from '../working-file.ts';
import type { S3LedgerOptions } from './s3-ledger-options.ts';
import type { RunAnswers } from './segment.ts';
import type { Listed, Segments } from './segments.ts';

/** From this size on, the copy takes long enough to report it. */
const TOLD_FROM_BYTES = 16 * 1024 * 1024;

/**
 * Copies the segments that the file does not have, one by one, so that memory does not grow with the ledger. The next segment is fetched
 * meanwhile.
 * @throws StorageError, or the error that ends the run
 */
export async function takeOver(
  working: WorkingFile,
  segments: Segments,
  listed: readonly Listed[],
  options: S3LedgerOptions,
): Promise<void> {
  const known = working.segments();
  const missing = listed.filter((one) => one.bytes > (known.get(one.name) ?? 0) && mayHelp(one, options));
  const bytes = missing.reduce((sum, one) => sum + one.bytes - (known.get(one.name) ?? 0), 0);
  if (bytes >= TOLD_FROM_BYTES)
    options.tell.info(
      'ledger_fetched',
      `fetching what the ledger has and this machine does not: ${missing.length} objects, ${Math.round(bytes / 1024 / 1024)} MiB`,
    );
  const fetch = (at: number): ReturnType<Segments['read']> | null => {
    const next = missing[at];
    const fetched = next === undefined ? null : segments.read(next.name, known.get(next.name) ?? 0);
    // The rejection is handled where the promise is awaited.
    fetched?.catch(() => undefined);
    return fetched;
  };
  let ahead = fetch(0);
  for (const [i, { name }] of missing.entries()) {
    const found = await ahead;
    options.drain?.throwIfAborted();
    ahead = fetch(i + 1);
    if (found !== null)
      working.take(
        found.parts.flatMap(({ answers }) => answers),
        name,
        found.bytes,
        totalsOf(found.parts, options.run),
        found.parts.findLast(({ run, spent }) => run === options.run && spent !== undefined)?.spent ?? null,
      );
  }
}

/** Whether a segment may have a usable answer: this run's own, or one that is young enough. A day of tolerance for clocks that differ. */
function mayHelp({ name, writtenAt }: Listed, { run, maxAgeDays, now }: S3LedgerOptions): boolean {
  return maxAgeDays === 0 || name.startsWith(`${run}/`) || writtenAt >= now() - (maxAgeDays + 1) * MS_PER_DAY;
}

/** A run's totals, as the parts state them; null when they do not. */
function totalsOf(parts: readonly RunAnswers[], run: string): SharedTotals | null {
  const own = parts.filter((part) => part.run === run).map(({ totals }) => totals);
  const most = (of: keyof SharedTotals): number => own.reduce((sum, totals) => Math.max(sum, totals[of]), 0);
  return own.length === 0 ? null : { lookups: most('lookups'), reused: most('reused'), lastAt: most('lastAt') };
}
