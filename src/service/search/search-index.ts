/** Search over the store: filters to a set of people, and from the set one page in the order asked for. */
import { profileKey } from '../../verification/profile-url.ts';
import { PERSON_COLUMNS } from '../store/person-row.ts';
import { snapshot, type Store } from '../store/store.ts';
import { and, andNot, countBits, isEmptyBetween, or, type Bits } from './bitmap.ts';
import { DomainNumbers, EmployerReader } from './employers.ts';
import { evaluate, type Expression } from './expression.ts';
import type { FilterContext, Meaning } from './filters.ts';
import { firstPlaces } from './first-places.ts';
import { orderOf, type After } from './order.ts';
import { PostingReader } from './postings.ts';
import type { Sort } from './sort-keys.ts';
import { EVERY } from './terms.ts';

/** A filter's meaning, and whether what meets it is left out. */
export interface Clause extends Meaning {
  readonly exclude: boolean;
}

export interface SearchRequest {
  readonly clauses: readonly Clause[];
  readonly sort: Sort;
  readonly descending: boolean;
  readonly after: After | null;
  readonly limit: number;
}

export interface Found {
  /** Rows of `people`. */
  readonly rows: readonly Readonly<Record<string, unknown>>[];
  readonly total: number;
  /** Null: this was the last page. */
  readonly next: After | null;
}

const DAY_MS = 86_400_000;
const EARTH_KM = 6_371;

export class SearchIndex {
  readonly #store: Store;
  readonly #people: PostingReader;
  readonly #companies: PostingReader;
  readonly #employers: EmployerReader;
  readonly #now: () => number;
  readonly context: FilterContext;

  /** @param now epoch milliseconds */
  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#people = new PostingReader(store, 'person');
    this.#companies = new PostingReader(store, 'company');
    this.#employers = new EmployerReader(store);
    this.#now = now;
    this.context = this.#context();
  }

  /** One page of who meets all clauses, as the store is at this moment. */
  find({ clauses, sort, descending, after, limit }: SearchRequest): Found {
    return snapshot(this.#store, () => {
      const found = this.#matching(clauses);
      const total = countBits(found);
      // One more than the page has says whether there is a next one.
      const places = firstPlaces(this.#store, found, orderOf(this.#store, sort), descending, after, limit + 1);
      const page = places.slice(0, limit);
      const last = page.at(-1);
      const read = this.#store.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE seq = ?`);
      return {
        rows: page.map(({ seq }) => read.get(seq)).filter((row) => row !== undefined),
        total,
        next: last === undefined || places.length <= limit ? null : { key: last.key, id: last.id },
      };
    });
  }

  /** What is asked of people alone comes first: from companies to people everybody has to be looked at who is left. */
  #matching(clauses: readonly Clause[]): Bits {
    const people = this.#size('SELECT max(seq) AS n FROM people');
    const companies = this.#size('SELECT max(id) AS n FROM domains');
    const ofPeople = (expression: Expression): Bits => evaluate(expression, this.#people, people);
    const ofCompanies = (parts: readonly Expression[], kind: 'all' | 'any'): Bits => evaluate({ kind, of: parts }, this.#companies, companies);
    const [personal, atWork, either] = [clauses.filter(({ company }) => company === undefined), clauses.filter(({ person }) => person === undefined), clauses.filter(({ person, company }) => person !== undefined && company !== undefined)];
    let found: Bits | null = null;
    for (const { exclude, person } of personal) {
      if (person === undefined) continue;
      const bits = ofPeople(person);
      if (exclude) found = andNot(found ?? this.#people.read(EVERY, people), bits);
      else found = found === null ? bits : and(found, bits);
    }
    const result = found ?? this.#people.read(EVERY, people);
    const isOver = (): boolean => isEmptyBetween(result, 0, result.length);
    const sides = (excluded: boolean): Expression[] => atWork.filter(({ exclude }) => exclude === excluded).flatMap(({ company }) => company ?? []);
    const [wanted, unwanted] = [sides(false), sides(true)];
    if (wanted.length > 0 && !isOver()) {
      const at = ofCompanies(wanted, 'all');
      and(result, this.#employers.peopleAt(unwanted.length === 0 ? at : andNot(at, ofCompanies(unwanted, 'any')), result));
    } else if (unwanted.length > 0 && !isOver()) {
      andNot(result, this.#employers.peopleAt(ofCompanies(unwanted, 'any'), result));
    }
    for (const { exclude, person, company } of either) {
      if (isOver()) break;
      const bits = or(this.#employers.peopleAt(ofCompanies([company as Expression], 'all'), result), ofPeople(person as Expression));
      if (exclude) andNot(result, bits);
      else and(result, bits);
    }
    return result;
  }

  #size(sql: string): number {
    return Number(this.#store.prepare(sql).get()?.['n'] ?? 0) + 1;
  }

  #context(): FilterContext {
    const now = this.#now;
    const domains = new DomainNumbers(this.#store);
    const profiles = this.#store.prepare('SELECT seq FROM people WHERE profile = ?');
    const people = this.#people;
    return {
      get today() {
        return Math.floor(now() / DAY_MS);
      },
      domainNumber: (domain) => domains.find(domain),
      peopleWithProfile(url) {
        const key = profileKey(url);
        return key === null ? [] : profiles.all(key).map(({ seq }) => seq as number);
      },
      placesNear: (lat, lng, km) => [...people.beginningWith('place=')].filter((place) => distanceKm(place.slice('place='.length), lat, lng) <= km),
    };
  }
}

/** Along a great circle (haversine). @param place `lat,lng` */
function distanceKm(place: string, lat: number, lng: number): number {
  const [otherLat = 0, otherLng = 0] = place.split(',').map(Number);
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h = Math.sin(radians(otherLat - lat) / 2) ** 2 + Math.cos(radians(lat)) * Math.cos(radians(otherLat)) * Math.sin(radians(otherLng - lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}
