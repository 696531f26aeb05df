/** Numbers from one to another, as sets of rows for each binary digit. */
import { DAY_MS } from '../days.ts';
import { BLOCK, emptyBits, isEmpty, or, type Bits } from './bitmap.ts';
import { addWithin } from './column-range.ts';
import type { ColumnReader } from './columns.ts';
import type { Criterion } from './criteria.ts';
import type { RangeExpression } from './expression.ts';
import { digitTerm, keptNumber, NUMBERS, numberStem } from './numbers.ts';
import { includes, type Posting, type PostingReader } from './posting-reader.ts';

/** What is written and read again within a call alone. */
const ROWS = emptyBits(BLOCK);
/** Digits are looked at four at a time: what is known of a row by then is fetched and put once for all four. */
const AT_ONCE = 4;
const ROOMS = Array.from({ length: AT_ONCE }, () => emptyBits(BLOCK));
const NONE = emptyBits(BLOCK);
/** Whose digit is 1: four digits, from the highest. */
type Ones = readonly [Bits, Bits, Bits, Bits];

/** Looking at the times of those of a block who are left takes as long as reading so many blocks. */
const TIMES_COST = 8;

/** A range as what is kept of numbers. */
interface Bounds {
  readonly low: number;
  readonly high: number;
  readonly bits: number;
}

/** Null: no number is within. */
export function rangeCriterion({ name, of, min, max }: RangeExpression, reader: PostingReader): Criterion | null {
  const { bits, bias } = NUMBERS[name];
  // A number beyond what is kept stands at its edge, and so must the bound.
  const low = min === null ? 0 : keptNumber(name, Math.ceil(min));
  const high = max === null ? 2 ** bits - 1 : keptNumber(name, Math.floor(max));
  if (low > high || (min !== null && min + bias > 2 ** bits - 1) || (max !== null && max + bias < 0)) return null;
  const stem = numberStem(name, of);
  const known = reader.posting(stem);
  const isBounded = low > 0 || high < 2 ** bits - 1;
  /** From the highest. */
  const digits = isBounded && known.id !== null ? Array.from({ length: bits }, (_, index) => digitTerm(stem, bits - 1 - index)) : [];
  let ids: readonly (number | null)[] | null = null;
  return {
    about: isBounded ? known.about / 2 : known.about,
    rowCost: digits.length + 1,
    ...(name === 'updated' && reader.times !== null ? byTimes(reader.times, known, { low, high, bits }) : byDigits(known, digits.map((digit) => reader.posting(digit)), { low, high, bits })),
    meets(_row, terms) {
      if (!includes(terms, known.id)) return false;
      ids ??= digits.map((digit) => reader.numberOf(digit));
      const number = ids.reduce<number>((sum, id) => 2 * sum + Number(includes(terms, id)), 0);
      return !isBounded || (number >= low && number <= high);
    },
  };
}

/** Days are found among the times that they are of: people are sorted by these, and they stand in memory. */
function byTimes(times: ColumnReader, known: Posting, { low, high, bits }: Bounds): Pick<Criterion, 'cost' | 'addTo'> {
  // Who was never reported has 0, which is no day.
  const within = { min: Math.max(1, low * DAY_MS), max: high === 2 ** bits - 1 ? Infinity : (high + 1) * DAY_MS - 1 };
  return { cost: TIMES_COST * known.blocks + times.beyondRoom, addTo: (block, into, among) => addWithin(times, block, within, into, among) };
}

function byDigits(known: Posting, digits: readonly Posting[], { low, high, bits }: Bounds): Pick<Criterion, 'cost' | 'addTo'> {
  const [below, within] = [low === 0 ? null : new AtMost(low - 1), high === 2 ** bits - 1 ? null : new AtMost(high)];
  return {
    cost: digits.reduce((sum, { blocks }) => sum + blocks, known.blocks),
    addTo(block, into, among) {
      const rows = ROWS;
      rows.fill(0);
      known.addTo(block, rows);
      for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & (among[i] ?? 0);
      below?.begin(rows);
      within?.begin(rows);
      for (let index = 0; index < digits.length; index += AT_ONCE) {
        if (below?.isOver !== false && within?.isOver !== false) break;
        const ones = ROOMS.map((room, at) => digits[index + at]?.rows(block, room) ?? NONE) as unknown as Ones;
        // Numbers have room for more than most are.
        const areNone = ones.every((one) => one === NONE);
        for (const bound of [below, within]) {
          if (areNone) bound?.nextNone(bits - 1 - index);
          else bound?.next(ones, bits - 1 - index);
        }
      }
      within?.keepIn(rows);
      below?.takeFrom(rows);
      or(into, rows);
    },
  };
}

/** Those rows of a block whose number is at most `bound`: told the digits one by one, from the highest, it needs none of them again (P. O'Neil and D. Quass, Improved query performance with variant indexes, 1997). */
class AtMost {
  readonly #bound: number;
  readonly #less = emptyBits(BLOCK);
  readonly #equal = emptyBits(BLOCK);

  constructor(bound: number) {
    this.#bound = bound;
  }

  begin(rows: Bits): void {
    this.#less.fill(0);
    this.#equal.set(rows);
  }

  /** Whether no further digit makes a difference. */
  get isOver(): boolean {
    return isEmpty(this.#equal);
  }

  /** @param digit the highest of the four, counted from the lowest of the number */
  next([a, b, c, d]: Ones, digit: number): void {
    const [less, equal] = [this.#less, this.#equal];
    const [ofA, ofB, ofC, ofD] = [this.#bit(digit), this.#bit(digit - 1), this.#bit(digit - 2), this.#bit(digit - 3)];
    for (let i = 0; i < equal.length; i++) {
      let l = less[i] ?? 0;
      let e = equal[i] ?? 0;
      // Rows with the digit of the bound; who has 0 where the bound has 1 is less.
      let same = (a[i] ?? 0) ^ ~ofA;
      l |= e & ~same & ofA;
      e &= same;
      same = (b[i] ?? 0) ^ ~ofB;
      l |= e & ~same & ofB;
      e &= same;
      same = (c[i] ?? 0) ^ ~ofC;
      l |= e & ~same & ofC;
      e &= same;
      same = (d[i] ?? 0) ^ ~ofD;
      l |= e & ~same & ofD;
      e &= same;
      less[i] = l;
      equal[i] = e;
    }
  }

  /** The same where all four are 0. */
  nextNone(digit: number): void {
    if ([0, 1, 2, 3].every((lower) => this.#bit(digit - lower) === 0)) return;
    or(this.#less, this.#equal);
    this.#equal.fill(0);
  }

  /** A digit of the bound, as the bits of a whole word; behind the lowest it is 0. */
  #bit(digit: number): number {
    return digit < 0 ? 0 : -(Math.floor(this.#bound / 2 ** digit) % 2);
  }

  keepIn(rows: Bits): void {
    for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & ((this.#less[i] ?? 0) | (this.#equal[i] ?? 0));
  }

  takeFrom(rows: Bits): void {
    for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & ~((this.#less[i] ?? 0) | (this.#equal[i] ?? 0));
  }
}
