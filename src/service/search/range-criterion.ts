/** Numbers from one to another, as sets of rows for each binary digit. */
import { BLOCK, emptyBits, isEmpty, or, type Bits } from './bitmap.ts';
import type { NumbersAtHand } from './column-range.ts';
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

/** Looking at the numbers of those of a block who are left takes as long as reading so many blocks. */
const AT_HAND_COST = 8;

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
  const atHand = reader.atHand[name];
  const ids = digits.map((digit) => reader.numberOf(digit));
  return {
    about: isBounded ? known.about / 2 : known.about,
    rowCost: digits.length + 1,
    ...(atHand !== undefined ? byNumbers(atHand, known, { low, high, bits }) : byDigits(known, digits.map((digit, index) => (ids[index] === null ? null : digit)), { low, high, bits }, reader)),
    meets(_row, terms) {
      if (!includes(terms, known.id)) return false;
      const number = ids.reduce<number>((sum, id) => 2 * sum + Number(includes(terms, id)), 0);
      return !isBounded || (number >= low && number <= high);
    },
  };
}

function byNumbers(atHand: NumbersAtHand, known: Posting, { low, high, bits }: Bounds): Pick<Criterion, 'cost' | 'addTo'> {
  // A number beyond what is kept counts as the greatest that is.
  const within = { min: low, max: high === 2 ** bits - 1 ? Infinity : high };
  return { cost: AT_HAND_COST * known.blocks + atHand.unread, addTo: (block, into, among) => atHand.addWithin(block, within, into, among) };
}

/** @param digits their terms, from the highest; null: nobody has it */
function byDigits(known: Posting, digits: readonly (string | null)[], { low, high, bits }: Bounds, reader: PostingReader): Pick<Criterion, 'cost' | 'addTo'> {
  const [below, within] = [low === 0 ? null : new AtMost(low - 1), high === 2 ** bits - 1 ? null : new AtMost(high)];
  // Where few are left when it comes to this, nobody asks for the lists of blocks.
  let postings: readonly (Posting | null)[] | null = null;
  return {
    cost: known.blocks * (1 + digits.filter((digit) => digit !== null).length),
    addTo(block, into, among) {
      postings ??= digits.map((digit) => (digit === null ? null : reader.posting(digit)));
      const sets = postings;
      const rows = ROWS;
      rows.fill(0);
      known.addTo(block, rows);
      for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & (among[i] ?? 0);
      below?.begin(rows);
      within?.begin(rows);
      for (let index = 0; index < digits.length; index += AT_ONCE) {
        if (below?.isOver(bits - index) !== false && within?.isOver(bits - index) !== false) break;
        const ones = ROOMS.map((room, at) => sets[index + at]?.rows(block, room) ?? NONE) as unknown as Ones;
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
  /** Digits of the bound, from the lowest, that are all 1: whoever equals it above them is at most as much. */
  readonly #free: number;
  readonly #less = emptyBits(BLOCK);
  readonly #equal = emptyBits(BLOCK);

  constructor(bound: number) {
    this.#bound = bound;
    let free = 0;
    for (let rest = bound; rest % 2 === 1; rest = (rest - 1) / 2) free++;
    this.#free = free;
  }

  begin(rows: Bits): void {
    this.#less.fill(0);
    this.#equal.set(rows);
  }

  /** Whether no digit below so many makes a difference. */
  isOver(digits: number): boolean {
    return digits <= this.#free || isEmpty(this.#equal);
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
