/** Ordered scan by name: walks SQLite's index of names from the cursor, and keeps the people found. */
import { prepareRows } from '../../sqlite/array-rows.ts';
import type { Steps } from '../../util/steps.ts';
import { CHUNK } from '../store/index/packed-chunk.ts';
import type { Store } from '../store/store.ts';
import type { RankedRow } from './comparator.ts';
import type { Matches } from './matcher.ts';
import type { CursorPosition, PageQuery } from './sort-orders.ts';

/** Index steps that cost as much as reading a chunk of each name column. */
const STEPS_PER_CHUNK = 100;
/** The scan may take this many times the expected steps, */
const EXPECTED_FACTOR = 6;
/** and this share of the columns' cost: filters such as a country correlate with names. */
const COLUMN_SHARE = 1 / 4;
/** Bounds of the steps per query. */
const [LEAST_BATCH, MOST_BATCH] = [16, 1_024];
/** Walking over this many rows takes one unit of work. */
const ROWS_A_UNIT = 20;

export class NameScan {
  readonly #read;
  readonly #steps: Readonly<Record<'up' | 'down', (after: CursorPosition | null, count: number) => readonly number[]>>;

  constructor(store: Store) {
    this.#read = store.prepare('SELECT name_key, id FROM people WHERE seq = ?');
    const steps = (beyond: '<' | '>', order: 'ASC' | 'DESC') => {
      const sql = (where: string): string => `SELECT seq FROM people ${where} ORDER BY name_key ${order}, id ${order} LIMIT ?`;
      const first = prepareRows<[seq: number]>(store, sql(''));
      const next = prepareRows<[seq: number]>(store, sql(`WHERE (name_key, id) ${beyond} (?, ?)`));
      return (after: CursorPosition | null, count: number): readonly number[] =>
        (after === null ? first.all(count) : next.all(after.key, after.id, count)).map(([seq]) => seq);
    };
    this.#steps = { up: steps('>', 'ASC'), down: steps('<', 'DESC') };
  }

  /** Null when reading the columns costs less: few people were found, or they stand far from the cursor. */
  *page({ found, total, people }: Matches, { descending, after, limit }: PageQuery): Steps<RankedRow[] | null> {
    const expected = Math.ceil((limit * people) / total);
    const columnCost = STEPS_PER_CHUNK * Math.ceil(people / CHUNK);
    const most = Math.min(columnCost, EXPECTED_FACTOR * expected + COLUMN_SHARE * columnCost);
    if (!(expected <= most)) return null;
    const page: RankedRow[] = [];
    let from = after;
    let batch = Math.min(expected + LEAST_BATCH, MOST_BATCH);
    for (let steps = 0; steps < most;) {
      const rows = this.#steps[descending ? 'down' : 'up'](from, batch);
      yield 1 + Math.floor(rows.length / ROWS_A_UNIT);
      for (const seq of rows) {
        if ((((found[seq >>> 5] ?? 0) >>> (seq & 31)) & 1) === 0) continue;
        page.push(this.#ranked(seq));
        if (page.length === limit) return page;
      }
      steps += rows.length;
      const last = rows.at(-1);
      if (last === undefined || rows.length < batch) return page;
      from = this.#ranked(last);
      batch = Math.min(4 * batch, MOST_BATCH);
    }
    return null;
  }

  #ranked(seq: number): RankedRow & { readonly key: string } {
    const row = this.#read.get(seq);
    return { seq, key: (row?.['name_key'] as string | undefined) ?? '', id: (row?.['id'] as string | undefined) ?? '' };
  }
}
