/** Compiles a range on a number: by bit slices, or by a scan of a sort column where one is in memory. */
import { existsTerm, SLICED_FIELDS, slicedValue, sliceTerm } from '../store/index/bit-slices.ts';
import { BLOCK, emptyBitmap, isEmptyBitmap, or, type Bitmap } from '../store/index/bitmap.ts';
import type { RangeScan } from './column-scan.ts';
import type { CompiledPredicate } from './compiled-predicate.ts';
import { includes, type PostingList, type PostingReader } from './posting-reader.ts';
import type { RangePredicate } from './predicate.ts';

/** Scratch memory, used between two pauses. */
const ROWS = emptyBitmap(BLOCK);
/** Slices per pass: the bitmaps of less and equal rows are then read and written once for four slices. */
const SLICES_PER_PASS = 4;
const BUFFERS = Array.from({ length: SLICES_PER_PASS }, () => emptyBitmap(BLOCK));
const NO_ROWS = emptyBitmap(BLOCK);
/** The rows with a 1 in each of four binary digits, from the highest. */
type FourSlices = readonly [Bitmap, Bitmap, Bitmap, Bitmap];

/** Scanning the column of a block costs as much as reading this many blocks. */
const SCAN_COST = 8;

/** A range of stored numbers, and how many binary digits these have. */
interface SliceBounds {
  readonly low: number;
  readonly high: number;
  readonly bits: number;
}

/** Null when the range has no storable number. */
export function compileRange({ field, key, min, max }: RangePredicate, reader: PostingReader): CompiledPredicate | null {
  const { bits, bias } = SLICED_FIELDS[field];
  // Numbers beyond the stored range are stored as its ends, and so are the bounds.
  const low = min === null ? 0 : slicedValue(field, Math.ceil(min));
  const high = max === null ? 2 ** bits - 1 : slicedValue(field, Math.floor(max));
  if (low > high || (min !== null && min + bias > 2 ** bits - 1) || (max !== null && max + bias < 0)) return null;
  const exists = existsTerm(field, key);
  const present = reader.list(exists);
  const isBounded = low > 0 || high < 2 ** bits - 1;
  /** From the highest digit. */
  const slices = isBounded && present.id !== null ? Array.from({ length: bits }, (_, index) => sliceTerm(exists, bits - 1 - index)) : [];
  const ids = slices.map((slice) => reader.termId(slice));
  const scan = reader.rangeScans[field];
  const bounds = { low, high, bits };
  return {
    rowEstimate: isBounded ? present.rowEstimate / 2 : present.rowEstimate,
    probeCost: slices.length + 1,
    ...(scan === undefined
      ? bySlices(
          present,
          slices.map((slice, index) => (ids[index] === null ? null : slice)),
          bounds,
          reader,
        )
      : byScan(scan, present, bounds)),
    matches(_row, terms) {
      if (!includes(terms, present.id)) return false;
      const number = ids.reduce<number>((sum, id) => 2 * sum + Number(includes(terms, id)), 0);
      return !isBounded || (number >= low && number <= high);
    },
  };
}

type BlockPart = Pick<CompiledPredicate, 'blockCost' | 'addTo'>;

function byScan(scan: RangeScan, present: PostingList, { low, high, bits }: SliceBounds): BlockPart {
  // The greatest storable number stands for all greater ones.
  const bounds = { min: low, max: high === 2 ** bits - 1 ? Infinity : high };
  return {
    blockCost: SCAN_COST * present.blocks + scan.uncachedChunks,
    *addTo(block, into, among) {
      yield* scan.prepare();
      scan.addInRange(block, bounds, into, among);
      yield SCAN_COST / 2;
    },
  };
}

/** @param slices terms of the slices, from the highest digit; null where no row has a 1 */
function bySlices(
  present: PostingList,
  slices: readonly (string | null)[],
  { low, high, bits }: SliceBounds,
  reader: PostingReader,
): BlockPart {
  const [below, upTo] = [low === 0 ? null : new AtMost(low - 1), high === 2 ** bits - 1 ? null : new AtMost(high)];
  // Read on first use: a search with few rows left never needs them.
  let lists: readonly (PostingList | null)[] | null = null;
  return {
    blockCost: present.blocks * (1 + slices.filter((slice) => slice !== null).length),
    *addTo(block, into, among) {
      lists ??= slices.map((slice) => (slice === null ? null : reader.list(slice)));
      const found = lists;
      const rows = ROWS;
      rows.fill(0);
      present.addTo(block, rows);
      for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & (among[i] ?? 0);
      below?.begin(rows);
      upTo?.begin(rows);
      let passes = 0;
      for (let index = 0; index < slices.length; index += SLICES_PER_PASS, passes++) {
        if (below?.isDecided(bits - index) !== false && upTo?.isDecided(bits - index) !== false) break;
        const four = BUFFERS.map((buffer, at) => found[index + at]?.rows(block, buffer) ?? NO_ROWS) as unknown as FourSlices;
        // The high digits of most fields are 0 in every row.
        const areEmpty = four.every((slice) => slice === NO_ROWS);
        for (const bound of [below, upTo]) {
          if (areEmpty) bound?.nextEmpty(bits - 1 - index);
          else bound?.next(four, bits - 1 - index);
        }
      }
      upTo?.keepIn(rows);
      below?.removeFrom(rows);
      or(into, rows);
      // The scratch memory is everybody's, so there is no pause before.
      yield 1 + passes;
    },
  };
}

/**
 * The rows of a block with a number of at most `bound`. It takes the slices once, from the highest digit (P. O'Neil and D. Quass, Improved
 * query performance with variant indexes, 1997).
 */
class AtMost {
  readonly #bound: number;
  /** Trailing 1 digits of the bound: a row that equals the bound above them is at most the bound. */
  readonly #trailingOnes: number;
  readonly #less = emptyBitmap(BLOCK);
  readonly #equal = emptyBitmap(BLOCK);

  constructor(bound: number) {
    this.#bound = bound;
    let ones = 0;
    for (let rest = bound; rest % 2 === 1; rest = (rest - 1) / 2) ones++;
    this.#trailingOnes = ones;
  }

  begin(rows: Bitmap): void {
    this.#less.fill(0);
    this.#equal.set(rows);
  }

  /** Whether the lowest `digits` digits cannot change the result. */
  isDecided(digits: number): boolean {
    return digits <= this.#trailingOnes || isEmptyBitmap(this.#equal);
  }

  /** @param digit position of the highest of the four, counted from 0 at the lowest digit */
  next([a, b, c, d]: FourSlices, digit: number): void {
    const [less, equal] = [this.#less, this.#equal];
    const [boundA, boundB, boundC, boundD] = [this.#mask(digit), this.#mask(digit - 1), this.#mask(digit - 2), this.#mask(digit - 3)];
    for (let i = 0; i < equal.length; i++) {
      let l = less[i] ?? 0;
      let e = equal[i] ?? 0;
      // Rows with the digit of the bound. A row with 0 where the bound has 1 is less.
      let same = (a[i] ?? 0) ^ ~boundA;
      l |= e & ~same & boundA;
      e &= same;
      same = (b[i] ?? 0) ^ ~boundB;
      l |= e & ~same & boundB;
      e &= same;
      same = (c[i] ?? 0) ^ ~boundC;
      l |= e & ~same & boundC;
      e &= same;
      same = (d[i] ?? 0) ^ ~boundD;
      l |= e & ~same & boundD;
      e &= same;
      less[i] = l;
      equal[i] = e;
    }
  }

  /** The same for four slices without rows. */
  nextEmpty(digit: number): void {
    if ([0, 1, 2, 3].every((lower) => this.#mask(digit - lower) === 0)) return;
    or(this.#less, this.#equal);
    this.#equal.fill(0);
  }

  /** A digit of the bound, repeated in all 32 bits; 0 below the lowest digit. */
  #mask(digit: number): number {
    return digit < 0 ? 0 : -(Math.floor(this.#bound / 2 ** digit) % 2);
  }

  keepIn(rows: Bitmap): void {
    for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & ((this.#less[i] ?? 0) | (this.#equal[i] ?? 0));
  }

  removeFrom(rows: Bitmap): void {
    for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & ~((this.#less[i] ?? 0) | (this.#equal[i] ?? 0));
  }
}
