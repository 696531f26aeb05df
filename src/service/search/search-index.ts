/** Search over the store: filters to a set of people, and from the set one page in the order asked for. */
import { profileKey } from '../../verification/profile-url.ts';
import { DAY_MS } from '../days.ts';
import { letGo } from '../../sqlite/array-rows.ts';
import { ownerReader } from '../store/domain-aliases.ts';
import { PERSON_COLUMNS } from '../store/person-row.ts';
import { snapshot, type Store } from '../store/store.ts';
import type { Circle } from './bad-value.ts';
import { Changes } from './changes.ts';
import { DomainNumbers, EmployerReader } from './employers.ts';
import type { Clause, FilterContext } from './filters.ts';
import { PageFinder } from './first-places.ts';
import { Matcher } from './matching.ts';
import type { After } from './order.ts';
import { PostingReader } from './posting-reader.ts';
import type { Sort } from './sort-keys.ts';

export interface SearchRequest {
  readonly clauses: readonly Clause[];
  readonly sort: Sort;
  readonly descending: boolean;
  readonly after: After | null;
  readonly limit: number;
}

/** Somebody who was found, and where in the order they stand. */
export interface FoundRow {
  /** Of `people`. */
  readonly row: Readonly<Record<string, unknown>>;
  readonly place: After;
}

export interface Found {
  readonly rows: readonly FoundRow[];
  readonly total: number;
  /** Null: this was the last page. */
  readonly next: After | null;
}

const EARTH_KM = 6_371;

export class SearchIndex {
  readonly #store: Store;
  readonly #changes: Changes;
  readonly #employers: EmployerReader;
  readonly #matcher: Matcher;
  readonly #pages: PageFinder;
  readonly #now: () => number;
  readonly context: FilterContext;

  /** @param now epoch milliseconds */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#changes = new Changes(store);
    this.#employers = new EmployerReader(store);
    this.#pages = new PageFinder(store, this.#employers);
    this.#matcher = new Matcher(store, this.#employers, this.#pages.atHand);
    this.#now = now;
    this.context = this.#context();
  }

  /** One page of who meets all clauses, as the store is at this moment. */
  find({ clauses, sort, descending, after, limit }: SearchRequest): Found {
    return snapshot(this.#store, () => {
      if (this.#changes.happened()) {
        this.#employers.forget();
        this.#matcher.forget();
        this.#pages.forget();
      }
      const matches = this.#matcher.matching(clauses);
      // One more than the page has says whether there is a next one.
      const places = this.#pages.first(matches, { sort, descending, after, limit: limit + 1 });
      // A bit each of all people: soon they would be more than all else.
      letGo(matches.found);
      const page = places.slice(0, limit);
      const last = page.at(-1);
      const read = this.#store.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE seq = ?`);
      return {
        rows: page.flatMap(({ seq, key, id }) => {
          const row = read.get(seq);
          return row === undefined ? [] : [{ row, place: { key, id } }];
        }),
        total: matches.total,
        next: last === undefined || places.length <= limit ? null : { key: last.key, id: last.id },
      };
    });
  }

  #context(): FilterContext {
    const now = this.#now;
    const domains = new DomainNumbers(this.#store);
    const ownerOf = ownerReader(this.#store);
    const profiles = this.#store.prepare('SELECT seq FROM people WHERE profile = ?');
    const people = new PostingReader(this.#store, 'person');
    return {
      get today() {
        return Math.floor(now() / DAY_MS);
      },
      domainNumber: (domain) => domains.find(ownerOf(domain) ?? domain),
      peopleWithProfile(url) {
        const key = profileKey(url);
        return key === null ? [] : profiles.all(key).map(({ seq }) => seq as number);
      },
      placesNear: (circles) => [...people.beginningWith('place=')].filter((place) => isWithin(place.slice('place='.length), circles)),
    };
  }
}

/** @param place `lat,lng` */
function isWithin(place: string, circles: readonly Circle[]): boolean {
  const [placeLat = 0, placeLng = 0] = place.split(',').map(Number);
  return circles.some(({ lat, lng, km }) => distanceKm(placeLat, placeLng, lat, lng) <= km);
}

/** Along a great circle (haversine). */
function distanceKm(otherLat: number, otherLng: number, lat: number, lng: number): number {
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h = Math.sin(radians(otherLat - lat) / 2) ** 2 + Math.cos(radians(lat)) * Math.cos(radians(otherLat)) * Math.sin(radians(otherLng - lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}
