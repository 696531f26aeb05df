/** What a filter means, as sets: terms, ranges, and what is made of them. */
import { and, andNot, emptyBits, or, setBit, type Bits } from './bitmap.ts';
import { keptNumber, NUMBERS, numberStem, type NumberName } from './numbers.ts';
import type { PostingReader } from './postings.ts';
import { EVERY } from './terms.ts';

export type Expression =
  | { readonly kind: 'term'; readonly term: string }
  | { readonly kind: 'range'; readonly name: NumberName; readonly of: string; readonly min: number | null; readonly max: number | null }
  | { readonly kind: 'rows'; readonly rows: readonly number[] }
  | { readonly kind: 'all' | 'any'; readonly of: readonly Expression[] }
  | { readonly kind: 'not'; readonly of: Expression };

export const term = (name: string): Expression => ({ kind: 'term', term: name });
export const all = (of: readonly Expression[]): Expression => ({ kind: 'all', of });
export const any = (of: readonly Expression[]): Expression => ({ kind: 'any', of });
export const not = (of: Expression): Expression => ({ kind: 'not', of });
export const range = (name: NumberName, min: number | null, max: number | null, of = ''): Expression => ({ kind: 'range', name, of, min, max });

/** The rows of an expression, in a set with room for `size`. */
export function evaluate(expression: Expression, reader: PostingReader, size: number): Bits {
  switch (expression.kind) {
    case 'term':
      return reader.read(expression.term, size);
    case 'range':
      return evaluateRange(expression, reader, size);
    case 'rows': {
      const bits = emptyBits(size);
      for (const row of expression.rows) if (row < size) setBit(bits, row);
      return bits;
    }
    case 'any': {
      const found = emptyBits(size);
      for (const part of expression.of) {
        // Hundreds of words are added to one set, and not each to one of its own.
        if (part.kind === 'term') reader.add(part.term, found);
        else or(found, evaluate(part, reader, size));
      }
      return found;
    }
    case 'all': {
      const [first, ...rest] = expression.of;
      if (first === undefined) return emptyBits(size);
      const found = evaluate(first, reader, size);
      for (const part of rest) and(found, evaluate(part, reader, size));
      return found;
    }
    case 'not':
      return andNot(reader.read(EVERY, size), evaluate(expression.of, reader, size));
    default:
      return expression satisfies never;
  }
}

/** Digit by digit from the highest (P. O'Neil and D. Quass, Improved query performance with variant indexes, 1997). */
function evaluateRange({ name, of, min, max }: Extract<Expression, { kind: 'range' }>, reader: PostingReader, size: number): Bits {
  const stem = numberStem(name, of);
  const known = reader.read(stem, size);
  const { bits, bias } = NUMBERS[name];
  // A number beyond what is kept stands at its edge, and so must the bound.
  const low = min === null ? 0 : keptNumber(name, Math.ceil(min));
  const high = max === null ? 2 ** bits - 1 : keptNumber(name, Math.floor(max));
  if (low > high || (min !== null && min + bias > 2 ** bits - 1) || (max !== null && max + bias < 0)) return emptyBits(size);
  const below = low === 0 ? null : new AtMost(known, low - 1);
  const within = high === 2 ** bits - 1 ? null : new AtMost(known, high);
  const digit = emptyBits(size);
  for (let bit = bits - 1; bit >= 0; bit--) {
    digit.fill(0);
    reader.add(`${stem}:${bit}`, digit);
    below?.next(digit, bit);
    within?.next(digit, bit);
  }
  const found = within === null ? known : within.rows();
  return below === null ? found : andNot(found, below.rows());
}

/** The known rows whose number is at most `bound`: told the digits one by one, from the highest, it needs none of them again. */
class AtMost {
  readonly #bound: number;
  readonly #less: Bits;
  readonly #equal: Bits;

  constructor(known: Bits, bound: number) {
    this.#bound = bound;
    this.#less = new Uint32Array(known.length);
    this.#equal = known.slice();
  }

  next(digit: Bits, bit: number): void {
    const [less, equal] = [this.#less, this.#equal];
    const isOne = Math.floor(this.#bound / 2 ** bit) % 2 === 1;
    for (let i = 0; i < equal.length; i++) {
      const e = equal[i] ?? 0;
      const d = digit[i] ?? 0;
      if (isOne) {
        less[i] = (less[i] ?? 0) | (e & ~d);
        equal[i] = e & d;
      } else {
        equal[i] = e & ~d;
      }
    }
  }

  rows(): Bits {
    return or(this.#less, this.#equal);
  }
}
