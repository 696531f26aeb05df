/** Candidates of a result page, and the comparator that orders them. Sort columns are read lazily, one level at a time. */
import { CHUNK } from '../store/index/packed-chunk.ts';
import { compareUtf8 } from '../store/index/text-prefixes.ts';
import type { CursorPosition, SortOrder } from './sort-orders.ts';

/** A row with its position in the order. */
export interface RankedRow extends CursorPosition {
  readonly seq: number;
}

/** @param main the row's number in the primary column */
export type ReadRankedRow = (seq: number, main: number) => RankedRow;

/** A candidate of the result page. It reads its numbers from the columns when many rows of a chunk are compared, else from its own row. */
export class Candidate {
  readonly #order: SortOrder;
  readonly #read: ReadRankedRow;
  readonly #numbers: number[];
  #seq: number;
  #useColumns = false;
  #row: RankedRow | null = null;

  constructor(order: SortOrder, read: ReadRankedRow, seq = 0, numbers: readonly number[] = []) {
    this.#order = order;
    this.#read = read;
    this.#seq = seq;
    this.#numbers = [...numbers];
  }

  /** Reuses this object for another row. @param useColumns whether many rows of the same chunk are compared */
  become(seq: number, main: number, useColumns: boolean): void {
    this.#seq = seq;
    this.#numbers.length = 1;
    this.#numbers[0] = main;
    this.#useColumns = useColumns;
    this.#row = null;
  }

  /** A copy to be stored; it reads what is missing from its own row. */
  copy(): Candidate {
    const copy = new Candidate(this.#order, this.#read, this.#seq, this.#numbers);
    copy.#row = this.#row;
    return copy;
  }

  /** The number of level 0, the primary column, or of a later level. Levels are asked for in turn. */
  number(level: number): number {
    return (this.#numbers[level] ??= this.#readNumber(level));
  }

  get position(): RankedRow {
    this.#row ??= this.#read(this.#seq, this.number(0));
    return this.#row;
  }

  #readNumber(level: number): number {
    const next = this.#order.next[level - 1];
    if (next === undefined) return 0;
    if (!this.#useColumns || this.#row !== null) return next.numberOf(this.position);
    const { least, unit, codes } = next.chunk(Math.floor(this.#seq / CHUNK));
    return least + ((codes[this.#seq % CHUNK] ?? 0) - 1) * unit;
  }
}

/** The position of the cursor, comparable to candidates. */
export class CursorCandidate {
  readonly position: CursorPosition;
  readonly #numbers: readonly number[];

  constructor(order: SortOrder, position: CursorPosition) {
    this.position = position;
    this.#numbers = [order.main, ...order.next].map((level) => level.numberOf(position));
  }

  number(level: number): number {
    return this.#numbers[level] ?? 0;
  }
}

/** Compares level by level, then by key and id where the numbers do not decide. @param sign -1 for descending order */
export function compareCandidates(order: SortOrder, sign: 1 | -1, one: Candidate, other: Candidate | CursorCandidate): number {
  const { main, next } = order;
  for (let level = 0; level <= next.length; level++) {
    const number = one.number(level);
    const difference = number - other.number(level);
    if (difference !== 0) return sign * difference;
    if ((level === 0 ? main : next[level - 1])?.isExact(number) !== true) break;
  }
  const [a, b] = [one.position, other.position];
  const byKey = typeof a.key === 'string' && typeof b.key === 'string' ? compareUtf8(a.key, b.key) : 0;
  return sign * (byKey || compareUtf8(a.id, b.id));
}
