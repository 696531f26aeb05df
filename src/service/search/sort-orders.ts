/** Sort orders: each is a list of columns of numbers, and each column breaks the ties of those before it. */
import type { Steps } from '../../util/steps.ts';
import { DAY_MS } from '../records/parse-date.ts';
import type { EmployerReader } from '../store/index/employers.ts';
import type { DecodedChunk } from '../store/index/packed-chunk.ts';
import { ColumnReader, type ColumnName, type Zone } from '../store/index/sort-columns.ts';
import type { Sort } from '../store/index/sort-keys.ts';
import { idPrefixes, isCompleteName, isExactId, isExactName, namePrefixes } from '../store/index/text-prefixes.ts';
import type { Store } from '../store/store.ts';
import { addInRange, type RangeScan, type RangeScans } from './column-scan.ts';
import { Headcounts, type PageChunk } from './headcounts.ts';

/** Where a page ended: sort key and id of its last row. Later writes do not move it. */
export interface CursorPosition {
  readonly key: string | number;
  readonly id: string;
}

export interface PageQuery {
  readonly descending: boolean;
  /** Null: from the beginning. */
  readonly after: CursorPosition | null;
  readonly limit: number;
}

interface LevelBase {
  /** The least and greatest number of each chunk (zone map), where known. */
  zones(): ReadonlyMap<number, Zone>;
  /** The number that a row at this position has. */
  numberOf(position: CursorPosition): number;
  /** Whether rows with this number are equal in this level. Otherwise the number is a prefix, and only key and id decide. */
  isExact(number: number): boolean;
}

export interface PrimaryLevel extends LevelBase {
  /** Whether each chunk is read from the store, and none is cached. Its numbers are prefixes of names, which rows have. */
  readonly isUncached: boolean;
  readonly chunk: PageChunk;
}

interface SortLevel extends LevelBase {
  chunk(chunk: number): DecodedChunk;
}

/** The primary column, and the columns that break ties: the rest of a name, and the two halves of an id prefix. */
export interface SortOrder {
  readonly main: PrimaryLevel;
  readonly next: readonly [SortLevel, ...SortLevel[]];
}

/**
 * Bytes of the column caches. A rank takes one byte a person, and a time two where all are full days: that is ten million people. Names
 * and ids take eight bytes, are read for few candidates, and are not cached.
 */
const CACHE_BYTES = { ranks: 10 * 1024 * 1024, times: 20 * 1024 * 1024 };

export const NO_ZONES: ReadonlyMap<number, Zone> = new Map();

export class SortOrders {
  readonly #orders: Readonly<Record<Sort, () => SortOrder>>;
  readonly headcounts: Headcounts;
  /** Columns that can evaluate ranges, too. */
  readonly rangeScans: Readonly<Record<'people' | 'companies', RangeScans>>;
  readonly #columns: readonly ColumnReader[];

  constructor(store: Store, employers: EmployerReader) {
    const columns: ColumnReader[] = [];
    const columnOf = (name: ColumnName, cacheBytes = 0): ColumnReader => {
      const column = new ColumnReader(store, name, cacheBytes);
      columns.push(column);
      return column;
    };
    const level = (
      name: ColumnName | ColumnReader,
      numberOf: SortLevel['numberOf'],
      isExact: SortLevel['isExact'] = () => true,
    ): SortLevel => {
      const column = typeof name === 'string' ? columnOf(name) : name;
      return { chunk: (chunk) => column.chunk(chunk), zones: () => column.zones(), numberOf, isExact };
    };
    const ids = [
      level('person_id_heads', ({ id }) => idPrefixes(id)[0], isExactId),
      level('person_id_tails', ({ id }) => idPrefixes(id)[1], isExactId),
    ] as const;
    const headcounts = new Headcounts(store, employers);
    const times = columnOf('person_times', CACHE_BYTES.times);
    this.#orders = {
      relevance: always({ main: { ...level(columnOf('person_ranks', CACHE_BYTES.ranks), keyNumber), isUncached: false }, next: ids }),
      updated_at: always({ main: { ...level(times, keyNumber), isUncached: false }, next: ids }),
      name: always({
        main: { ...level('person_name_heads', ({ key }) => namePrefixes(String(key))[0], isExactName), isUncached: true },
        next: [level('person_name_tails', ({ key }) => namePrefixes(String(key))[1], isCompleteName), ...ids],
      }),
      headcount: () => ({
        main: { chunk: headcounts.pageLevel(), zones: () => NO_ZONES, numberOf: keyNumber, isExact: () => true, isUncached: false },
        next: ids,
      }),
    };
    this.headcounts = headcounts;
    this.rangeScans = { people: { updated: scanByDay(times) }, companies: { employees: headcounts } };
    this.#columns = columns;
  }

  /** The order for one page. Several pages may be found at the same time. */
  *of(sort: Sort): Steps<SortOrder> {
    if (sort === 'headcount') yield* this.headcounts.prepare();
    return this.#orders[sort]();
  }

  /** To be called after a write to the store. */
  invalidate(): void {
    for (const column of this.#columns) column.invalidate();
    this.headcounts.invalidate();
  }
}

const always =
  (order: SortOrder): (() => SortOrder) =>
  () =>
    order;

/** Ranges of days over a column of times. */
function scanByDay(times: ColumnReader): RangeScan {
  return {
    get uncachedChunks() {
      return times.uncachedChunks;
    },
    *prepare() {
      times.zones();
      yield 0;
    },
    // A person without a report has time 0, which matches no range.
    addInRange: (block, { min, max }, into, among) =>
      addInRange(times, block, { min: Math.max(1, min * DAY_MS), max: (max + 1) * DAY_MS - 1 }, into, among),
  };
}

const keyNumber = ({ key }: CursorPosition): number => Number(key);
