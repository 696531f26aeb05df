/** Selects the companies next in order of headcount, for the ordered scan of people by headcount. Pure. */
import type { CompanySizes } from '../store/index/aliases.ts';
import type { Bitmap } from '../store/index/bitmap.ts';
import type { Zone } from '../store/index/sort-columns.ts';

interface NextBySizeQuery {
  /** Null: any company. */
  readonly among: Bitmap | null;
  /** The size, as in `CompanySizes`, where the cursor stands; null for the first page. */
  readonly cursor: number | null;
  readonly descending: boolean;
  /** Companies to select, together with all that equal the last of them. */
  readonly count: number;
  /** Bound of the selection: more companies cost more than the columns. */
  readonly most: number;
}

export interface NextBySize {
  /** Companies behind the cursor, in no order. */
  readonly companies: readonly number[];
  /** Companies with exactly the cursor's size. */
  readonly atCursor: readonly number[];
  /** Whether no company with a known size comes after these. */
  readonly isLast: boolean;
}

function isAmong(company: number, among: Bitmap | null): boolean {
  return among === null || (((among[company >>> 5] ?? 0) >>> (company & 31)) & 1) === 1;
}

/** The first company from `from` on with a size from `least` to `most`; null when there is none. */
function nextInRange(sizes: CompanySizes, among: Bitmap | null, from: number, least: number, most: number): number | null {
  for (let company = from; company < sizes.length; company++) {
    const size = sizes[company] ?? 0;
    // The size first: most companies fail this test, so the processor predicts the branch.
    if (size >= least && size <= most && isAmong(company, among)) return company;
  }
  return null;
}

/** The least and greatest known size; null when none is known. @param among null: any company */
export function zoneOfSizes(sizes: CompanySizes, among: Bitmap | null): Zone | null {
  let [least, most] = [Infinity, 0];
  for (let company = 0; company < sizes.length; company++) {
    const size = sizes[company] ?? 0;
    if ((size >= least && size <= most) || size === 0 || !isAmong(company, among)) continue;
    if (size < least) least = size;
    if (size > most) most = size;
  }
  return most === 0 ? null : { least, most };
}

/** The next `count` companies with a known size. Null when they are more than `most`, or were at some moment of the pass. */
export function nextBySize(sizes: CompanySizes, { among, cursor, descending, count, most }: NextBySizeQuery): NextBySize | null {
  let [low, high] = descending ? [1, cursor ?? Infinity] : [Math.max(1, cursor ?? 1), Infinity];
  const atCursor: number[] = [];
  let selected: number[] = [];
  /** Drops the companies behind the first `count` and their equals, and tightens the range. */
  const prune = (): void => {
    if (selected.length <= count) return;
    const sizeOf = (company: number): number => sizes[company] ?? 0;
    selected.sort((one, other) => (descending ? sizeOf(other) - sizeOf(one) : sizeOf(one) - sizeOf(other)));
    const last = sizeOf(selected[Math.ceil(count) - 1] ?? 0);
    if (descending) low = last;
    else high = last;
    selected = selected.filter((company) => (descending ? sizeOf(company) >= last : sizeOf(company) <= last));
  };
  let pruneAt = 2 * count;
  for (
    let company = nextInRange(sizes, among, 0, low, high);
    company !== null;
    company = nextInRange(sizes, among, company + 1, low, high)
  ) {
    (sizes[company] === cursor ? atCursor : selected).push(company);
    if (atCursor.length > most) return null;
    if (selected.length < pruneAt) continue;
    prune();
    // Many equal companies rarely come at the beginning only, and each prune sorts them again.
    if (selected.length > most) return null;
    pruneAt = 2 * Math.max(count, selected.length);
  }
  prune();
  if (selected.length + atCursor.length > most) return null;
  const isLast = nextInRange(sizes, among, 0, descending ? 1 : high + 1, descending ? low - 1 : Infinity) === null;
  return { companies: selected, atCursor, isLast };
}
