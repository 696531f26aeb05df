/** Search over the store: filters to a set of people, and from the set one page in the order asked for. */
import { profileKey } from '../../verification/profile-url.ts';
import { PERSON_COLUMNS } from '../store/person-row.ts';
import { snapshot, type Store } from '../store/store.ts';
import { and, andNot, countBits, hasBit, isEmptyBetween, numbersIn, or, type Bits } from './bitmap.ts';
import { boundsOf } from './bounds.ts';
import { DomainNumbers, EmployerReader } from './employers.ts';
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
/** Rows that are walked by in any case. */
const LEAST_WALK = 20_000;
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
  readonly #employers: EmployerReader;
  readonly #now: () => number;
  readonly #sortAtMost: typeof sortedUpTo;
  readonly context: FilterContext;

  /** @param now epoch milliseconds @param sortAtMost up to how many are sorted by themselves; of more, the whole order is walked until a page is full */
  constructor(store: Store, now: () => number, sortAtMost = sortedUpTo) {
    this.#store = store;
    this.#people = new PostingReader(store, 'person');
    this.#companies = new PostingReader(store, 'company');
    this.#employers = new EmployerReader(store);
    this.#now = now;
    this.#sortAtMost = sortAtMost;
    this.context = this.#context();
  }

  /** One page of who meets all clauses, as the store is at this moment. */
  find(request: SearchRequest): Found {
    return snapshot(this.#store, () => {
      const found = this.#matching(request.clauses);
      const total = countBits(found);
      const few = total <= this.#sortAtMost(found.length * 32, request.limit);
      // Where all of many stand at the far end of the order, sorting them costs less than walking there.
      const places = (few ? null : this.#walked(found, total, request)) ?? this.#sorted(found, request);
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

  /** Few: each one's place is read, and the first are kept. One more than the page has, where there is one. */
  #sorted(found: Bits, { sort, descending, after, limit }: SearchRequest): Place[] {
    const read = this.#store.prepare(`SELECT seq, ${SORTS[sort]} AS key, id FROM people WHERE seq = ?`);
    const sign = descending ? -1 : 1;
    const places: Place[] = [];
    for (const seq of numbersIn(found)) {
      const place = read.get(seq) as Place | undefined;
      if (place === undefined || (after !== null && sign * compare(place, after) <= 0)) continue;
      const last = places[limit];
      if (last !== undefined && sign * compare(place, last) > 0) continue;
      // Most are put off here, and those that are not soon stand in line.
      const at = places.findIndex((other) => sign * compare(place, other) < 0);
      places.splice(at === -1 ? places.length : at, 0, place);
      if (places.length > limit + 1) places.pop();
    }
    return places;
  }

  /** Many: everybody in order from where the last page ended, until there are enough of those who were found. Null: after as many as were found, the page is still not full. */
  #walked(found: Bits, total: number, { clauses, sort, descending, after, limit }: SearchRequest): Place[] | null {
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
    let left = Math.max(total, LEAST_WALK);
    for (const place of walk.iterate(...values)) {
      if (left-- === 0) return null;
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
  if (typeof one === 'string' && typeof other === 'string') return compareTexts(one, other);
  return one < other ? -1 : one > other ? 1 : 0;
}

function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const difference = rankOf(one.charCodeAt(i)) - rankOf(other.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Code units in the order of the code points that they are of: surrogates stand for what comes after all else. */
function rankOf(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}

/** Along a great circle (haversine). @param place `lat,lng` */
function distanceKm(place: string, lat: number, lng: number): number {
  const [otherLat = 0, otherLng = 0] = place.split(',').map(Number);
  const radians = (degrees: number): number => (degrees * Math.PI) / 180;
  const h = Math.sin(radians(otherLat - lat) / 2) ** 2 + Math.cos(radians(lat)) * Math.cos(radians(otherLat)) * Math.sin(radians(otherLng - lng) / 2) ** 2;
  return 2 * EARTH_KM * Math.asin(Math.min(1, Math.sqrt(h)));
}
