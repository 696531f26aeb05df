/** Scans a table that may be damaged: yields every row that SQLite can still reach before, between and behind damaged pages. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { isSqliteError } from '../../../sqlite/busy.ts';
import type { Row, Table } from './tables.ts';

export type Key = readonly SQLInputValue[];

/** After this many unreadable row numbers, the steps grow. A damaged page high up in the B-tree hides thousands of rows. */
const NEAR = 4_096;

export class TableScan {
  /** Whether any read failed so far. */
  isDamaged = false;
  /** Whether the current cursor reached the end of the table. */
  #ended = false;
  readonly #table: Table;
  readonly #from: StatementSync;
  readonly #below: StatementSync;
  readonly #first: StatementSync;
  readonly #last: StatementSync;
  readonly #highest: StatementSync | null;
  readonly #seeks: (after: Key | null) => Iterable<Key>;

  /**
   * Scans a table.
   * @param seeks keys to try behind an unreadable place, in ascending order; rows between two such places are read backwards. Null tries
   * row numbers up to `most`.
   */
  constructor(store: DatabaseSync, table: Table, seeks: ((after: Key | null) => Iterable<Key>) | null = null, most = 0) {
    this.#table = table;
    const key = table.key.map((column) => `"${column}"`).join(', ');
    const [columns, places] = [`${table.key[0] === 'rowid' ? 'rowid AS "rowid", ' : ''}*`, table.key.map(() => '?').join(', ')];
    const order = (way: string): string => `ORDER BY ${table.key.map((column) => `"${column}" ${way}`).join(', ')}`;
    const select = `SELECT ${columns} FROM "${table.name}"`;
    this.#from = store.prepare(`${select} WHERE (${key}) >= (${places}) ${order('ASC')}`);
    this.#below = store.prepare(`${select} WHERE (${key}) < (${places}) ${order('DESC')}`);
    this.#first = store.prepare(`${select} ${order('ASC')}`);
    this.#last = store.prepare(`${select} ${order('DESC')}`);
    this.#highest = table.key[0] === 'rowid' ? store.prepare(`SELECT max(rowid) AS n FROM "${table.name}"`) : null;
    this.#seeks = seeks ?? ((after) => (this.#highest === null ? [] : this.#numbers(Number(after?.[0] ?? 0), most, this.#highest)));
  }

  /** Yields each row once, with `rowid` when the table has one. @throws errors that are not damage, such as a disk error */
  *rows(): Generator<Row> {
    let last: Key | null = null;
    for (let rows: Iterator<Row> = begin(this.#first, []); ;) {
      for (let row = this.#next(rows); row !== 'end' && row !== 'damaged'; row = this.#next(rows)) {
        // A damaged page may point into another part of the tree. Rows from there are yielded at their own place.
        if (last !== null && this.#isBehind(row, last)) {
          this.isDamaged = true;
          break;
        }
        last = this.keyOf(row);
        yield row;
      }
      if (!this.isDamaged || this.#ended) return;
      const found = this.#seek(last);
      yield* this.#backwards(found?.key ?? null, last);
      if (found === null) return;
      rows = found.rows;
      if (found.first !== null) {
        last = this.keyOf(found.first);
        yield found.first;
      }
    }
  }

  keyOf(row: Row): Key {
    return this.#table.key.map((column) => row[column] as SQLInputValue);
  }

  #next(rows: Iterator<Row>): Row | 'end' | 'damaged' {
    try {
      const { done, value } = rows.next();
      this.#ended = done === true;
      return done === true ? 'end' : value;
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.isDamaged = true;
      this.#ended = false;
      return 'damaged';
    }
  }

  /** The first key behind `after` from which rows can be read again. */
  #seek(after: Key | null): { readonly key: Key; readonly rows: Iterator<Row>; readonly first: Row | null } | null {
    for (const key of this.#seeks(after)) {
      const rows = begin(this.#from, key);
      const first = this.#next(rows);
      if (first === 'damaged' || (first !== 'end' && after !== null && this.#isBehind(first, after))) continue;
      return { key, rows, first: first === 'end' ? null : first };
    }
    return null;
  }

  /** Rows before `from` (null for the table's end), backwards, down to the first unreadable row or the key `to`, exclusive. */
  *#backwards(from: Key | null, to: Key | null): Generator<Row> {
    const rows = from === null ? begin(this.#last, []) : begin(this.#below, from);
    for (let row = this.#next(rows); row !== 'end' && row !== 'damaged'; row = this.#next(rows)) {
      if (to !== null && this.#isBehind(row, to)) return;
      yield row;
    }
    this.#ended = false;
  }

  /** Whether a row's key is at or before the given key. */
  #isBehind(row: Row, key: Key): boolean {
    if (this.#table.key[0] === 'rowid') return (row['rowid'] as number) <= Number(key[0]);
    return compareKeys(this.keyOf(row), key) <= 0;
  }

  *#numbers(after: number, most: number, highest: StatementSync): Generator<Key> {
    let end = most;
    try {
      end = Math.max(most, Number(highest.get()?.['n'] ?? 0));
    } catch (error) {
      if (!isDamage(error)) throw error;
    }
    let step = 1;
    for (let n = after + 1; n <= end + 1; n += step) {
      yield [n];
      if (n - after > NEAR) step = Math.ceil((n - after) / NEAR);
    }
  }
}

/** Restarts a statement. After a failure, the first restart throws the old error again, so it is tried twice. */
function begin(statement: StatementSync, key: Key): Iterator<Row> {
  try {
    return statement.iterate(...key);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return statement.iterate(...key);
  }
}

/**
 * True when SQLite found the file malformed: SQLITE_CORRUPT or SQLITE_NOTADB (sqlite.org/rescode.html), or when a row has a number beyond
 * 2^53, which Millrace never writes. A disk error is not damage.
 */
export function isDamage(error: unknown): boolean {
  if (error instanceof RangeError) return (error as { readonly code?: unknown }).code === 'ERR_OUT_OF_RANGE';
  return isSqliteError(error) && [11, 26].includes((error as { readonly errcode: number }).errcode & 0xff);
}

/** Compares keys in SQLite's order: numbers, then texts, then blobs. */
function compareKeys(one: Key, other: Key): number {
  for (const [at, left] of one.entries()) {
    const order = compareValues(left, other[at]);
    if (order !== 0) return order;
  }
  return 0;
}

function compareValues(one: unknown, other: unknown): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (one instanceof Uint8Array && other instanceof Uint8Array) return Buffer.compare(one, other);
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return 1;
}
