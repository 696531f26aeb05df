/** The query engine: predicates become a bitmap of people, and the bitmap becomes one page in the requested order. */
import { releaseMemory } from '../../sqlite/array-rows.ts';
import { profileKey } from '../../verification/profile-url.ts';
import type { Circle } from '../records/filter-value.ts';
import { DAY_MS } from '../records/parse-date.ts';
import { ownerReader } from '../store/identity/domain-aliases.ts';
import { ChangeDetector } from '../store/index/change-detector.ts';
import { DomainIds } from '../store/index/domain-ids.ts';
import { EmployerReader } from '../store/index/employers.ts';
import type { Sort } from '../store/index/sort-keys.ts';
import { PERSON_COLUMNS } from '../store/rows/person-row.ts';
import { snapshot, type Store } from '../store/store.ts';
import type { FilterContext } from './filter-kinds.ts';
import { Matcher } from './matcher.ts';
import { PostingReader } from './posting-reader.ts';
import type { PredicateGroup } from './predicate.ts';
import type { CursorPosition } from './sort-orders.ts';
import { ResultPager } from './top-k.ts';

export interface SearchRequest {
  readonly predicates: readonly PredicateGroup[];
  readonly sort: Sort;
  readonly descending: boolean;
  /** The page begins behind this position; null for the first page. */
  readonly after: CursorPosition | null;
  readonly limit: number;
}

interface ResultRow {
  /** A row of `people`. */
  readonly row: Readonly<Record<string, unknown>>;
  readonly position: CursorPosition;
}

interface SearchResult {
  readonly rows: readonly ResultRow[];
  /** Exact number of people found. */
  readonly total: number;
  /** Where the next page begins; null after the last page. */
  readonly next: CursorPosition | null;
}

const EARTH_KM = 6_371;

export class QueryEngine {
  readonly #store: Store;
  readonly #changes: ChangeDetector;
  readonly #employers: EmployerReader;
  readonly #matcher: Matcher;
  readonly #pager: ResultPager;
  readonly #now: () => number;
  readonly context: FilterContext;

  /** @param now epoch milliseconds */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#changes = new ChangeDetector(store);
    this.#employers = new EmployerReader(store);
    this.#pager = new ResultPager(store, this.#employers);
    this.#matcher = new Matcher(store, this.#employers, this.#pager.rangeScans);
    this.#now = now;
    this.context = this.#filterContext();
  }

  /** One page of the people who pass all predicates, in one read transaction. */
  find({ predicates, sort, descending, after, limit }: SearchRequest): SearchResult {
    return snapshot(this.#store, () => {
      if (this.#changes.hasChanged()) {
        this.#employers.invalidate();
        this.#matcher.invalidate();
        this.#pager.invalidate();
      }
      const matches = this.#matcher.match(predicates);
      // One row more than the page has says whether there is a next page.
      const ranked = this.#pager.page(matches, { sort, descending, after, limit: limit + 1 });
      // The bitmap has a bit for each person of the store. The garbage collector would free it much later.
      releaseMemory(matches.found);
      const page = ranked.slice(0, limit);
      const last = page.at(-1);
      const read = this.#store.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE seq = ?`);
      return {
        rows: page.flatMap(({ seq, key, id }) => {
          const row = read.get(seq);
          return row === undefined ? [] : [{ row, position: { key, id } }];
        }),
        total: matches.total,
        next: last === undefined || ranked.length <= limit ? null : { key: last.key, id: last.id },
      };
    });
  }

  #filterContext(): FilterContext {
    const now = this.#now;
    const domains = new DomainIds(this.#store);
    const ownerOf = ownerReader(this.#store);
    const profiles = this.#store.prepare('SELECT seq FROM people WHERE profile = ?');
    const people = new PostingReader(this.#store, 'person');
    return {
      get today() {
        return Math.floor(now() / DAY_MS);
      },
      domainId: (domain) => domains.find(ownerOf(domain) ?? domain),
      peopleWithProfile(url) {
        const key = profileKey(url);
        return key === null ? [] : profiles.all(key).map(({ seq }) => seq as number);
      },
      placesNear: (circles) => [...people.termsWithPrefix('place=')].filter((place) => isWithin(place.slice('place='.length), circles)),
    };
  }
}

/** @param place `lat,lng` */
function isWithin(place: string, circles: readonly Circle[]): boolean {
  const [placeLat = 0, placeLng = 0] = place.split(',').map(Number);
  return circles.some(({ lat, lng, km }) => distanceKm(placeLat, placeLng, lat, lng) <= km);
}

/** Great-circle distance (haversine formula). */
function distanceKm(otherLat: number, otherLng: number, lat: number, lng: number): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h =
    Math.sin(radians(otherLat - lat) / 2) ** 2 +
    Math.cos(radians(lat)) * Math.cos(radians(otherLat)) * Math.sin(radians(otherLng - lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}
