/** Companies that come next in order of their sizes. Pure. */
import type { Bits } from './bitmap.ts';

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
export function isAmong(company: number, among: Bits | null): boolean {
  return among === null || (((among[company >>> 5] ?? 0) >>> (company & 31)) & 1) === 1;
}

/** Companies whose sizes are known, in no order. Null: they are more than `most`, or would be were there no companies but the first so many. */
export function nextSizes(sizes: Sizes, { among, beyond, descending, count, most }: SizesWanted): NextSizes | null {
  let [low, high] = descending ? [1, beyond ?? Infinity] : [Math.max(1, beyond ?? 1), Infinity];
  const equal: number[] = [];
  let kept: number[] = [];
  let areAll = true;
  /** Leaves out those who are behind the first `count` and whoever equals the last of these. */
  const cut = (): void => {
    if (kept.length <= count) return;
    const sizeOf = (company: number): number => sizes[company] ?? 0;
    kept.sort((one, other) => (descending ? sizeOf(other) - sizeOf(one) : sizeOf(one) - sizeOf(other)));
    const last = sizeOf(kept[Math.ceil(count) - 1] ?? 0);
    if (descending) low = last;
    else high = last;
    const before = kept.length;
    kept = kept.filter((company) => (descending ? sizeOf(company) >= last : sizeOf(company) <= last));
    areAll &&= kept.length === before;
  };
  let room = 2 * count;
  for (let company = 0; company < sizes.length; company++) {
    const size = sizes[company] ?? 0;
    if (!isAmong(company, among)) continue;
    if (size < low || size > high) {
      // Behind what is left since it was cut, though nobody may have been left out by that.
      if (descending ? size > 0 && size < low : size > high) areAll = false;
      continue;
    }
    (size === beyond ? equal : kept).push(company);
    if (equal.length > most) return null;
    if (kept.length < room) continue;
    cut();
    // Those who are equal are seldom many at the beginning alone, and to put many in order again and again takes long.
    if (kept.length > most) return null;
    room = 2 * Math.max(count, kept.length);
  }
  cut();
  return kept.length + equal.length > most ? null : { companies: kept, equal, areAll };
}
