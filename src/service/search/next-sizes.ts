/** Companies that come next in order of their sizes. Pure. */
import type { Bits } from './bitmap.ts';
import type { Extent } from './columns.ts';

/** Of each company its size and one more, 0 where none is known. */
export type Sizes = Int32Array | Float64Array;

export interface SizesWanted {
  /** Null: any company. */
  readonly among: Bits | null;
  /** The size, as in `Sizes`, behind which they are; null: from the beginning. */
  readonly beyond: number | null;
  readonly descending: boolean;
  /** As many at the least, where there are so many, and all that equal the last of them. */
  readonly count: number;
  /** More are not worth the while. */
  readonly most: number;
}

export interface NextSizes {
  readonly companies: readonly number[];
  /** Those whose size is `beyond` itself. */
  readonly equal: readonly number[];
  /** Whether nobody's size that is known is further beyond. */
  readonly areAll: boolean;
}

/** Null: any company is. */
function isAmong(company: number, among: Bits | null): boolean {
  return among === null || (((among[company >>> 5] ?? 0) >>> (company & 31)) & 1) === 1;
}

/** The first company from `from` on whose size, as in `Sizes`, is from `least` to `most`; null: there is none. */
function nextOf(sizes: Sizes, among: Bits | null, from: number, least: number, most: number): number | null {
  for (let company = from; company < sizes.length; company++) {
    const size = sizes[company] ?? 0;
    // The size first: of most companies it is guessed right that theirs is not asked for.
    if (size >= least && size <= most && isAmong(company, among)) return company;
  }
  return null;
}

/** Between which the sizes are that are known, as in `Sizes`; null: none is. @param among null: any company */
export function extentOf(sizes: Sizes, among: Bits | null): Extent | null {
  let [least, most] = [Infinity, 0];
  for (let company = 0; company < sizes.length; company++) {
    const size = sizes[company] ?? 0;
    if ((size >= least && size <= most) || size === 0 || !isAmong(company, among)) continue;
    if (size < least) least = size;
    if (size > most) most = size;
  }
  return most === 0 ? null : { least, most };
}

/** Companies whose sizes are known, in no order. Null: they are more than `most`, or would be were there no companies but the first so many. */
export function nextSizes(sizes: Sizes, { among, beyond, descending, count, most }: SizesWanted): NextSizes | null {
  let [low, high] = descending ? [1, beyond ?? Infinity] : [Math.max(1, beyond ?? 1), Infinity];
  const equal: number[] = [];
  let kept: number[] = [];
  /** Leaves out those who are behind the first `count` and whoever equals the last of these. */
  const cut = (): void => {
    if (kept.length <= count) return;
    const sizeOf = (company: number): number => sizes[company] ?? 0;
    kept.sort((one, other) => (descending ? sizeOf(other) - sizeOf(one) : sizeOf(one) - sizeOf(other)));
    const last = sizeOf(kept[Math.ceil(count) - 1] ?? 0);
    if (descending) low = last;
    else high = last;
    kept = kept.filter((company) => (descending ? sizeOf(company) >= last : sizeOf(company) <= last));
  };
  let room = 2 * count;
  for (let company = nextOf(sizes, among, 0, low, high); company !== null; company = nextOf(sizes, among, company + 1, low, high)) {
    (sizes[company] === beyond ? equal : kept).push(company);
    if (equal.length > most) return null;
    if (kept.length < room) continue;
    cut();
    // Those who are equal are seldom many at the beginning alone, and to put many in order again and again takes long.
    if (kept.length > most) return null;
    room = 2 * Math.max(count, kept.length);
  }
  cut();
  if (kept.length + equal.length > most) return null;
  const areAll = nextOf(sizes, among, 0, descending ? 1 : high + 1, descending ? low - 1 : Infinity) === null;
  return { companies: kept, equal, areAll };
}
