/** The query engine: predicates become a bitmap of people, and the bitmap becomes one page in the requested order. */
import { releaseMemory } from '../../sqlite/array-rows.ts';
import type { Steps } from '../../util/steps.ts';
import { DAY_MS } from '../records/parse-date.ts';
import { EmployerReader } from '../store/index/employers.ts';
import type { Sort } from '../store/index/sort-keys.ts';
import { PERSON_COLUMNS } from '../store/rows/person-row.ts';
import { openReader, type Store } from '../store/store.ts';
import type { FilterContext } from './filter-kinds.ts';
import { FilterKeys } from './filter-keys.ts';
import { Matcher } from './matcher.ts';
import type { FilterGroup } from './predicate.ts';
import { SearchSnapshot } from './search-snapshot.ts';
import type { CursorPosition } from './sort-orders.ts';
import { ResultPager } from './top-k.ts';

export interface SearchRequest {
  readonly predicates: readonly FilterGroup[];
  readonly sort: Sort;
  readonly descending: boolean;
  /** The page begins behind this position; null for the first page. */
  readonly after: CursorPosition | null;
  readonly limit: number;
}

interface ResultRow {
  /** A row of `people`. */
  readonly row: Readonly<Record<string, unknown>>;
  readonly seq: number;
  readonly position: CursorPosition;
}

interface SearchResult {
  readonly rows: readonly ResultRow[];
  /** Exact number of people found. */
  readonly total: number;
  /** Where the next page begins; null after the last page. */
  readonly next: CursorPosition | null;
}

/** Reading the row of a person takes this many units of work. */
const ROW_UNITS = 2;

export class QueryEngine {
  readonly #reader: Store;
  readonly #snapshot: SearchSnapshot;
  readonly #keys: FilterKeys;
  readonly #matcher: Matcher;
  readonly #pager: ResultPager;
  readonly #readPerson;
  readonly #isThere;
  readonly context: FilterContext;

  /**
   * Opens a connection of its own for reading.
   * @param store the connection that writes the index in this process @param now epoch milliseconds
   */
  constructor(store: Store, now: () => number) {
    const reader = openReader(store);
    const employers = new EmployerReader(reader);
    this.#reader = reader;
    this.#keys = new FilterKeys(reader);
    this.#pager = new ResultPager(reader, employers);
    this.#matcher = new Matcher(reader, employers, this.#pager.rangeScans);
    this.#snapshot = new SearchSnapshot(store, reader, now, () => {
      employers.invalidate();
      for (const part of [this.#keys, this.#matcher, this.#pager]) part.invalidate();
    });
    this.#readPerson = reader.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE seq = ?`);
    this.#isThere = store.prepare('SELECT 1 FROM people WHERE seq = ? AND id = ?');
    this.context = {
      get today() {
        return Math.floor(now() / DAY_MS);
      },
    };
  }

  close(): void {
    this.#reader.close();
  }

  /** One page of the people who pass all predicates, as of one moment. Nobody who was erased meanwhile is in it. */
  *find(request: SearchRequest): Steps<SearchResult> {
    yield* this.#snapshot.enter();
    try {
      return yield* this.#find(request);
    } finally {
      this.#snapshot.leave();
    }
  }

  *#find({ predicates, sort, descending, after, limit }: SearchRequest): Steps<SearchResult> {
    const matches = yield* this.#matcher.match(yield* this.#keys.resolve(predicates));
    // One row more than the page has says whether there is a next page.
    const ranked = yield* this.#pager.page(matches, { sort, descending, after, limit: limit + 1 });
    // The bitmap has a bit for each person of the store. The garbage collector would free it much later.
    releaseMemory(matches.found);
    const page = ranked.slice(0, limit);
    const last = page.at(-1);
    const rows: ResultRow[] = [];
    for (const { seq, key, id } of page) {
      const row = this.#readPerson.get(seq);
      if (row !== undefined) rows.push({ row, seq, position: { key, id } });
      yield ROW_UNITS;
    }
    const left = this.#snapshot.isOutdated ? rows.filter(({ seq, position }) => this.#isThere.get(seq, position.id) !== undefined) : rows;
    return { rows: left, total: matches.total, next: last === undefined || ranked.length <= limit ? null : { key: last.key, id: last.id } };
  }
}
