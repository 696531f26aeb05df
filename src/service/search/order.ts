/** An order of people as columns of numbers, each of which tells apart whom those before it do not. */
import { DAY_MS } from '../days.ts';
import type { Store } from '../store/store.ts';
import type { Bits } from './bitmap.ts';
import { addWithin, type AtHand, type NumbersAtHand } from './column-range.ts';
import { ColumnReader, type ColumnName, type Extent } from './columns.ts';
import type { EmployerReader } from './employers.ts';
import { Headcounts } from './headcounts.ts';
import type { Coded } from './packed.ts';
import type { Sort } from './sort-keys.ts';
import { idNumbers, isToldId, isToldName, isWholeName, nameNumbers } from './text-numbers.ts';

/** Where a page ended: the next begins after it, whatever was added or removed meanwhile. */
export interface After {
  readonly key: string | number;
  readonly id: string;
}

/** Which page of an order is asked for. */
export interface PageWanted {
  readonly descending: boolean;
  /** Null: from the beginning. */
  readonly after: After | null;
  readonly limit: number;
}

interface AnyLevel {
  /** Between which each chunk's numbers are, where that is known. */
  extents(): ReadonlyMap<number, Extent>;
  /** What somebody at this place would have. */
  numberOf(place: After): number;
  /** Of two with this number, whether the next level says which is first; otherwise only what the numbers were made of does. */
  isTold(number: number): boolean;
}

export interface MainLevel extends AnyLevel {
  /** Whether each chunk is read from the store, and none is kept. Its numbers are of texts, which rows have. */
  readonly isRead: boolean;
  /** The numbers of a chunk's rows. They hold until another chunk is read. Of rows that are not in `among`, or whose number is not from `least` to `most`, the code may be NaN. */
  chunk(chunk: number, among: Bits, least: number, most: number): Coded;
}

export interface Level extends AnyLevel {
  chunk(chunk: number): Coded;
}

/** What is sorted by, and what comes next where that is equal: the rest of a name, and the two parts of ids, which break ties. */
export interface Order {
  readonly main: MainLevel;
  readonly next: readonly [Level, ...Level[]];
}

/** Of ranks a byte a person and of times two, as a rule, are kept as they were read: of ten million people, bytes. Names and ids have eight, and are asked for where few are left. */
const MOST_KEPT = { ranks: 10 * 1024 * 1024, times: 20 * 1024 * 1024 };

export const NO_EXTENTS: ReadonlyMap<number, Extent> = new Map();

export class Orders {
  readonly #orders: Readonly<Record<Sort, Order>>;
  readonly headcounts: Headcounts;
  readonly atHand: Readonly<Record<'people' | 'companies', AtHand>>;
  readonly #columns: readonly ColumnReader[];

  constructor(store: Store, employers: EmployerReader) {
    const columns: ColumnReader[] = [];
    const columnOf = (name: ColumnName, most = 0): ColumnReader => {
      const column = new ColumnReader(store, name, most);
      columns.push(column);
      return column;
    };
    const level = (name: ColumnName | ColumnReader, numberOf: Level['numberOf'], isTold: Level['isTold'] = () => true): Level => {
      const column = typeof name === 'string' ? columnOf(name) : name;
      return { chunk: (chunk) => column.chunk(chunk), extents: () => column.extents(), numberOf, isTold };
    };
    const ids = [level('person_id_heads', ({ id }) => idNumbers(id)[0], isToldId), level('person_id_tails', ({ id }) => idNumbers(id)[1], isToldId)] as const;
    const headcounts = new Headcounts(store, employers);
    const times = columnOf('person_times', MOST_KEPT.times);
    this.#orders = {
      relevance: { main: { ...level(columnOf('person_ranks', MOST_KEPT.ranks), keyNumber), isRead: false }, next: ids },
      updated_at: { main: { ...level(times, keyNumber), isRead: false }, next: ids },
      name: {
        main: { ...level('person_name_heads', ({ key }) => nameNumbers(String(key))[0], isToldName), isRead: true },
        next: [level('person_name_tails', ({ key }) => nameNumbers(String(key))[1], isWholeName), ...ids],
      },
      headcount: { main: { chunk: (...asked) => headcounts.chunk(...asked), extents: () => NO_EXTENTS, numberOf: keyNumber, isTold: () => true, isRead: false }, next: ids },
    };
    this.headcounts = headcounts;
    this.atHand = { people: { updated: daysOf(times) }, companies: { employees: headcounts } };
    this.#columns = columns;
  }

  /** Only the last that was asked for holds. */
  of(sort: Sort): Order {
    this.headcounts.begin();
    return this.#orders[sort];
  }

  /** The store has changed. */
  forget(): void {
    for (const column of this.#columns) column.forget();
    this.headcounts.forget();
  }
}

/** Days, by the times in which they are. */
function daysOf(times: ColumnReader): NumbersAtHand {
  return {
    get unread() {
      return times.beyondRoom;
    },
    // Who was never reported has 0, which is no day.
    addWithin: (block, { min, max }, into, among) => addWithin(times, block, { min: Math.max(1, min * DAY_MS), max: (max + 1) * DAY_MS - 1 }, into, among),
  };
}

const keyNumber = ({ key }: After): number => Number(key);
