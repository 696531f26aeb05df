/** Search over the store: filters to a set of people, and from the set one page in the order asked for. */
import { profileKey } from '../../verification/profile-url.ts';
import { PERSON_COLUMNS } from '../store/person-row.ts';
import { snapshot, type Store } from '../store/store.ts';
import { and, andNot, countBits, hasBit, numbersIn, or, type Bits } from './bitmap.ts';
import { boundsOf } from './bounds.ts';
import { DomainNumbers, peopleAt } from './employers.ts';
import { evaluate, type Expression } from './expression.ts';
import type { FilterContext, Meaning } from './filters.ts';
import { PostingReader } from './postings.ts';
import { EVERY } from './terms.ts';

/** What one can sort by, and the column that holds it. */
export const SORTS = { relevance: 'rank', updated_at: 'observed_at', name: 'name_key', headcount: 'headcount' } as const;
export type Sort = keyof typeof SORTS;

/** Where a page ended: the next begins after it, whatever was added or removed meanwhile. */
export interface After {
  readonly key: string | number;
  readonly id: string;
}

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

/** Up to how many found people are sorted by themselves. Sorting looks at each of them, walking the order at `people * limit / found` as a rule: this is where the two meet. */
const sortedUpTo = (people: number, limit: number): number => Math.sqrt(people * limit);
const DAY_MS = 86_400_000;
const EARTH_KM = 6_371;

interface Place {
  readonly seq: number;
  readonly key: string | number;
  readonly id: string;
}

export class SearchIndex {
  readonly #store: Store;
  readonly #people: PostingReader;
  readonly #companies: PostingReader;
  readonly #now: () => number;
  readonly #sortAtMost: typeof sortedUpTo;
  readonly context: FilterContext;

  /** @param now epoch milliseconds @param sortAtMost up to how many are sorted by themselves; of more, the whole order is walked until a page is full */
  constructor(store: Store, now: () => number, sortAtMost = sortedUpTo) {
    this.#store = store;
    this.#people = new PostingReader(store, 'person');
    this.#companies = new PostingReader(store, 'company');
    this.#now = now;
    this.#sortAtMost = sortAtMost;
    this.context = this.#context();
  }

  /** One page of who meets all clauses, as the store is at this moment. */
  find(request: SearchRequest): Found {
    return snapshot(this.#store, () => {
      const found = this.#matching(request.clauses);
      const total = countBits(found);
      const places = total <= this.#sortAtMost(found.length * 32, request.limit) ? this.#sorted(found, request) : this.#walked(found, request);
      const page = places.slice(0, request.limit);
      const last = page.at(-1);
      const read = this.#store.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE seq = ?`);
      return {
        rows: page.map(({ seq }) => read.get(seq)).filter((row) => row !== undefined),
        total,
        next: last === undefined || places.length <= request.limit ? null : { key: last.key, id: last.id },
      };
    });
  }

  #matching(clauses: readonly Clause[]): Bits {
    const people = this.#size('SELECT max(seq) AS n FROM people');
    const companies = this.#size('SELECT max(id) AS n FROM domains');
    const atCompany = (expression: Expression): Bits => peopleAt(this.#store, evaluate(expression, this.#companies, companies), people);
    const bitsOf = ({ person, company }: Meaning): Bits | null => {
      if (company === undefined) return person === undefined ? null : evaluate(person, this.#people, people);
      return person === undefined ? atCompany(company) : or(evaluate(person, this.#people, people), atCompany(company));
    };
    let found: Bits | null = null;
    const keep = (bits: Bits): void => {
      found = found === null ? bits : and(found, bits);
    };
    // What is asked of companies alone is settled among companies: each step from there to people looks at everybody.
    const ofCompanies = clauses.filter(({ exclude, person, company }) => !exclude && person === undefined && company !== undefined).map(({ company }) => company as Expression);
    if (ofCompanies.length > 0) keep(atCompany({ kind: 'all', of: ofCompanies }));
    for (const clause of clauses) {
      const settled = clause.person === undefined && clause.company !== undefined;
      const bits = clause.exclude || settled ? null : bitsOf(clause);
      if (bits !== null) keep(bits);
    }
    const result = found ?? this.#people.read(EVERY, people);
    const unwanted = clauses.filter(({ exclude }) => exclude);
    const companiesOut = unwanted.flatMap(({ company }) => (company === undefined ? [] : [company]));
    if (companiesOut.length > 0) andNot(result, atCompany({ kind: 'any', of: companiesOut }));
    for (const { person } of unwanted) if (person !== undefined) andNot(result, evaluate(person, this.#people, people));
    return result;
  }

  /** Few: each one's place is read, and they are sorted. One more than the page has, where there is one. */
  #sorted(found: Bits, { sort, descending, after, limit }: SearchRequest): Place[] {
    const read = this.#store.prepare(`SELECT seq, ${SORTS[sort]} AS key, id FROM people WHERE seq = ?`);
    const sign = descending ? -1 : 1;
    const places: Place[] = [];
    for (const seq of numbersIn(found)) {
      const place = read.get(seq) as Place | undefined;
      if (place !== undefined && (after === null || sign * compare(place, after) > 0)) places.push(place);
    }
    return places.sort((one, other) => sign * compare(one, other)).slice(0, limit + 1);
  }

  /** Many: everybody in order from where the last page ended, until there are enough of those who were found. */
  #walked(found: Bits, { clauses, sort, descending, after, limit }: SearchRequest): Place[] {
    const column = SORTS[sort];
    const order = descending ? 'DESC' : 'ASC';
    const conditions: string[] = [];
    const values: (string | number)[] = [];
    const { min, max } = boundsOf(clauses, sort);
    for (const [sign, bound] of [['>=', min], ['<=', max]] as const) {
      if (bound === null) continue;
      conditions.push(`${column} ${sign} ?`);
      values.push(bound);
    }
    if (after !== null) {
      conditions.push(`(${column}, id) ${descending ? '<' : '>'} (?, ?)`);
      values.push(after.key, after.id);
    }
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const walk = this.#store.prepare(`SELECT seq, ${column} AS key, id FROM people ${where} ORDER BY ${column} ${order}, id ${order}`);
    const places: Place[] = [];
    for (const place of walk.iterate(...values)) {
      if (!hasBit(found, place['seq'] as number)) continue;
      places.push(place as unknown as Place);
      if (places.length > limit) break;
    }
    return places;
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

/** SQLite compares texts by their bytes in UTF-8, which is the order of code points. */
function compare(one: After, other: After): number {
  return compareKeys(one.key, other.key) || compareKeys(one.id, other.id);
}

function compareKeys(one: string | number, other: string | number): number {
  if (typeof one === 'string' && typeof other === 'string') return Buffer.compare(Buffer.from(one), Buffer.from(other));
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Along a great circle (haversine). @param place `lat,lng` */
function distanceKm(place: string, lat: number, lng: number): number {
  const [otherLat = 0, otherLng = 0] = place.split(',').map(Number);
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h = Math.sin(radians(otherLat - lat) / 2) ** 2 + Math.cos(radians(lat)) * Math.cos(radians(otherLat)) * Math.sin(radians(otherLng - lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}
