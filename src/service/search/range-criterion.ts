/** Numbers from one to another, as sets of rows for each binary digit. */
import { andNot, BLOCK, emptyBits, isEmpty, or, type Bits } from './bitmap.ts';
import type { Criterion } from './criteria.ts';
import type { RangeExpression } from './expression.ts';
import { keptNumber, NUMBERS, numberStem } from './numbers.ts';
import { includes, type PostingReader } from './posting-reader.ts';

/** What is written and read again within a call alone. */
const [ROWS, DIGIT] = [emptyBits(BLOCK), emptyBits(BLOCK)];

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
  const digits = isBounded && known.id !== null ? Array.from({ length: bits }, (_, index) => reader.posting(`${stem}:${bits - 1 - index}`)) : [];
  const [below, within] = [low === 0 ? null : new AtMost(low - 1), high === 2 ** bits - 1 ? null : new AtMost(high)];
  return {
    about: isBounded ? known.about / 2 : known.about,
    cost: digits.reduce((sum, { blocks }) => sum + blocks, known.blocks),
    rowCost: digits.length + 1,
    addTo(block, into, among) {
      const rows = ROWS;
      rows.fill(0);
      known.addTo(block, rows);
      for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & (among[i] ?? 0);
      below?.begin(rows);
      within?.begin(rows);
      for (const [index, one] of digits.entries()) {
        if (below?.isOver !== false && within?.isOver !== false) break;
        const ones = one.rows(block, DIGIT);
        below?.next(ones, bits - 1 - index);
        within?.next(ones, bits - 1 - index);
      }
      within?.keepIn(rows);
      below?.takeFrom(rows);
      or(into, rows);
    },
    meets(_row, terms) {
      if (!includes(terms, known.id)) return false;
      const number = digits.reduce((sum, { id }) => 2 * sum + Number(includes(terms, id)), 0);
      return !isBounded || (number >= low && number <= high);
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

  /** @param ones whose digit is 1; null: nobody's */
  next(ones: Bits | null, bit: number): void {
    const [less, equal] = [this.#less, this.#equal];
    const isOne = Math.floor(this.#bound / 2 ** bit) % 2 === 1;
    if (ones === null) {
      if (!isOne) return;
      or(less, equal);
      equal.fill(0);
    } else if (isOne) {
      for (let i = 0; i < equal.length; i++) {
        const [e, one] = [equal[i] ?? 0, ones[i] ?? 0];
        less[i] = (less[i] ?? 0) | (e & ~one);
        equal[i] = e & one;
      }
    } else andNot(equal, ones);
  }

  keepIn(rows: Bits): void {
    for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & ((this.#less[i] ?? 0) | (this.#equal[i] ?? 0));
  }

  takeFrom(rows: Bits): void {
    for (let i = 0; i < rows.length; i++) rows[i] = (rows[i] ?? 0) & ~((this.#less[i] ?? 0) | (this.#equal[i] ?? 0));
  }
}
