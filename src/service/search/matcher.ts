/** Finds the people who pass all predicates of a search, as a bitmap of their rows. */
import { BLOCK, countBits, emptyBitmap, hasAtMost, isEmptyBitmap, setBit, type Bitmap } from '../store/index/bitmap.ts';
import type { EmployerFilter, EmployerReader } from '../store/index/employers.ts';
import { EVERY } from '../store/index/terms.ts';
import type { Store } from '../store/store.ts';
import type { RangeScans } from './column-scan.ts';
import { compilePredicate } from './compile-predicate.ts';
import { intersect, type PredicateStep } from './intersect.ts';
import { PostingReader } from './posting-reader.ts';
import { any, type Predicate, type PredicateGroup } from './predicate.ts';

/** Finding a person's employer, and its terms, costs as much as reading this many blocks. */
const EMPLOYER_LOOKUP_COST = 3;
/** Mapping companies to a block of people costs as much as reading this many of its posting blocks. */
const EMPLOYER_BLOCK_COST = 4;
/** Bounds of the posting caches. A company has about four people. */
const CACHE_BYTES = { people: 16 * 1024 * 1024, companies: 14 * 1024 * 1024 };

export interface Matches {
  /** Rows of the people found. */
  readonly found: Bitmap;
  /** How many people were found. */
  readonly total: number;
  /** How many people the store has. */
  readonly people: number;
  /**
   * Ids of companies, and of their other domains, such that each person found works at one of them. Id 0 means no employer. Null when
   * no predicate is on companies.
   */
  readonly companies: Bitmap | null;
}

export class Matcher {
  readonly #people: PostingReader;
  readonly #companies: PostingReader;
  readonly #employers: EmployerReader;
  readonly #lastPerson;
  readonly #lastCompany;
  #everybody: Pick<Matches, 'found' | 'total'> | null = null;

  constructor(store: Store, employers: EmployerReader, rangeScans: Readonly<Record<'people' | 'companies', RangeScans>>) {
    this.#people = new PostingReader(store, 'person', CACHE_BYTES.people, rangeScans.people);
    this.#companies = new PostingReader(store, 'company', CACHE_BYTES.companies, rangeScans.companies);
    this.#employers = employers;
    this.#lastPerson = store.prepare('SELECT max(seq) AS n FROM people');
    this.#lastCompany = store.prepare('SELECT max(id) AS n FROM domains');
  }

  /** To be called after a write to the store, together with those of the constructor's arguments. */
  invalidate(): void {
    this.#everybody = null;
    this.#people.invalidate();
    this.#companies.invalidate();
  }

  match(predicates: readonly PredicateGroup[]): Matches {
    const { found: everybody, total: people } = (this.#everybody ??= this.#readEverybody());
    const found = everybody.slice();
    const companies = this.#intersectAll(found, predicates);
    return { found, total: predicates.length === 0 ? people : countBits(found), people, companies };
  }

  /**
   * Intersects with predicates on people, then with those on companies. A predicate on people that costs more than to find the
   * employers of all people comes last. Returns the companies that remain; null when no predicate is on companies.
   */
  #intersectAll(found: Bitmap, groups: readonly PredicateGroup[]): Bitmap | null {
    const onPeople = compileSteps(
      groups.flatMap(({ person, company, exclude }) =>
        person === undefined || company !== undefined ? [] : { predicate: person, exclude },
      ),
      this.#people,
    );
    const onEmployers = groups.filter(({ company }) => company !== undefined);
    const mostCost = onEmployers.length === 0 ? Infinity : (EMPLOYER_BLOCK_COST * found.length * 32) / BLOCK;
    this.#intersectPeople(
      found,
      onPeople.filter(({ compiled }) => compiled.blockCost <= mostCost),
    );
    const companies = this.#intersectByEmployer(found, onEmployers);
    this.#intersectPeople(
      found,
      onPeople.filter(({ compiled }) => compiled.blockCost > mostCost),
    );
    return companies;
  }

  /** Groups on companies only, and groups that either side may match. */
  #intersectByEmployer(found: Bitmap, groups: readonly PredicateGroup[]): Bitmap | null {
    if (groups.length === 0 || isEmptyBitmap(found)) return null;
    const onCompanies = groups.flatMap(({ person, company, exclude }) =>
      company === undefined || person !== undefined ? [] : { predicate: company, exclude },
    );
    const companies = onCompanies.length > 0 ? this.#matchCompanies(onCompanies, found) : null;
    const onEither = groups.filter(({ person }) => person !== undefined).map((group) => this.#matchEither(group, found));
    // One pass for all of them: employer ids are scattered in memory, and fetching them is the slow part.
    this.#employers.filter(found, [...(companies === null ? [] : [{ companies, people: null, exclude: false }]), ...onEither]);
    return companies;
  }

  #matchEither({ person, company, exclude }: PredicateGroup, found: Bitmap): EmployerFilter {
    const people = found.slice();
    this.#intersectPeople(people, compileSteps([{ predicate: person ?? any([]), exclude: false }], this.#people));
    return { companies: this.#matchCompanies([{ predicate: company ?? any([]), exclude: false }], found), people, exclude };
  }

  #intersectPeople(found: Bitmap, steps: readonly PredicateStep[]): void {
    intersect(found, steps, found.length * 32, (row) => this.#people.termsOf(row));
  }

  /**
   * The companies that pass all predicates, by the ids of all their domains. Only employers of `found` are certain to be correct. Id 0
   * (no employer) counts as a company without terms.
   */
  #matchCompanies(predicates: readonly SignedPredicate[], found: Bitmap): Bitmap {
    const steps = compileSteps(predicates, this.#companies);
    const size = Number(this.#lastCompany.get()?.['n'] ?? 0) + 1;
    const cost = steps.reduce((sum, { compiled }) => sum + compiled.blockCost, 0);
    const companies = emptyBitmap(size);
    const { aliases } = this.#employers;
    if (hasAtMost(found, cost / EMPLOYER_LOOKUP_COST))
      for (const id of this.#employers.employersOf(found)) setBit(companies, aliases.companyOf(id));
    else companies.fill(-1);
    intersect(companies, steps, size, (id) => this.#companies.termsOf(id));
    aliases.copyToAliases(companies);
    return companies;
  }

  #readEverybody(): Pick<Matches, 'found' | 'total'> {
    const everybody = emptyBitmap(Number(this.#lastPerson.get()?.['n'] ?? 0) + 1);
    const every = this.#people.list(EVERY);
    for (let block = 0; block * BLOCK < everybody.length * 32; block++)
      every.addTo(block, everybody.subarray((block * BLOCK) / 32, ((block + 1) * BLOCK) / 32));
    return { found: everybody, total: countBits(everybody) };
  }
}

interface SignedPredicate {
  readonly predicate: Predicate;
  readonly exclude: boolean;
}

function compileSteps(predicates: readonly SignedPredicate[], reader: PostingReader): PredicateStep[] {
  return predicates.map(({ predicate, exclude }) => ({ compiled: compilePredicate(predicate, reader), exclude }));
}
