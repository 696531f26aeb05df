/** One page of many people in order of their names: that order is walked along the index of names, and whoever is met who was found comes next. */
import { prepareRows } from '../../sqlite/array-rows.ts';
import type { Store } from '../store/store.ts';
import type { Matches } from './matching.ts';
import type { After, PageWanted } from './order.ts';
import { CHUNK } from './packed.ts';
import type { Place } from './standing.ts';

/** As many steps take as long as reading a chunk of each column that names are told apart by. */
const STEPS_A_CHUNK = 100;
/** Those who were found may stand so many times as far apart as they would on the average, */
const TIMES_EXPECTED = 6;
/** and more, by that share of what columns take: what somebody is found by may go with their name, as a country does. */
const SHARE_TRIED = 1 / 4;
/** Steps that are read at once. */
const [LEAST_AT_ONCE, MOST_AT_ONCE] = [16, 4_096];

export class NameWalk {
  readonly #read;
  readonly #steps: Readonly<Record<'up' | 'down', (after: After | null, count: number) => readonly number[]>>;

  constructor(store: Store) {
    this.#read = store.prepare('SELECT name_key, id FROM people WHERE seq = ?');
    const steps = (beyond: '<' | '>', order: 'ASC' | 'DESC') => {
      const sql = (where: string): string => `SELECT seq FROM people ${where} ORDER BY name_key ${order}, id ${order} LIMIT ?`;
      const first = prepareRows<[seq: number]>(store, sql(''));
      const next = prepareRows<[seq: number]>(store, sql(`WHERE (name_key, id) ${beyond} (?, ?)`));
      return (after: After | null, count: number): readonly number[] => (after === null ? first.all(count) : next.all(after.key, after.id, count)).map(([seq]) => seq);
    };
    this.#steps = { up: steps('>', 'ASC'), down: steps('<', 'DESC') };
  }

  /** Null: reading columns takes less, because few were found or they stand far from where the page begins. */
  first({ found, total, people }: Matches, { descending, after, limit }: PageWanted): Place[] | null {
    const expected = Math.ceil((limit * people) / total);
    const ofColumns = STEPS_A_CHUNK * Math.ceil(people / CHUNK);
    const most = Math.min(ofColumns, TIMES_EXPECTED * expected + SHARE_TRIED * ofColumns);
    if (!(expected <= most)) return null;
    const places: Place[] = [];
    let from = after;
    let size = Math.min(expected + LEAST_AT_ONCE, MOST_AT_ONCE);
    for (let steps = 0; steps < most; ) {
      const rows = this.#steps[descending ? 'down' : 'up'](from, size);
      for (const seq of rows) {
        if ((((found[seq >>> 5] ?? 0) >>> (seq & 31)) & 1) === 0) continue;
        places.push(this.#place(seq));
        if (places.length === limit) return places;
      }
      steps += rows.length;
      const last = rows.at(-1);
      if (last === undefined || rows.length < size) return places;
      from = this.#place(last);
      size = Math.min(4 * size, MOST_AT_ONCE);
    }
    return null;
  }

  #place(seq: number): Place & { readonly key: string } {
    const row = this.#read.get(seq);
    return { seq, key: (row?.['name_key'] as string | undefined) ?? '', id: (row?.['id'] as string | undefined) ?? '' };
  }
}
