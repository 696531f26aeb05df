/** Finds the people who pass all predicates of a search, as a bitmap of their rows. */
import type { Steps } from '../../util/steps.ts';
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
/** Copying and counting this many words of a bitmap takes one unit of work, and so does finding this many employers. */
const [WORDS_A_UNIT, EMPLOYERS_A_UNIT] = [8_192, 100];
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

  *match(predicates: readonly PredicateGroup[]): Steps<Matches> {
    const { found: everybody, total: people } = (this.#everybody ??= yield* this.#readEverybody());
    const found = everybody.slice();
    const companies = yield* this.#intersectAll(found, predicates);
    yield Math.ceil(found.length / WORDS_A_UNIT);
    return { found, total: predicates.length === 0 ? people : countBits(found), people, companies };
  }

  /**
   * Intersects with predicates on people, then with those on companies. A predicate on people that costs more than to find the
   * employers of all people comes last. Returns the companies that remain; null when no predicate is on companies.
   */
  *#intersectAll(found: Bitmap, groups: readonly PredicateGroup[]): Steps<Bitmap | null> {
    const onPeople = yield* compileSteps(
      groups.flatMap(({ person, company, exclude }) =>
        person === undefined || company !== undefined ? [] : { predicate: person, exclude },
      ),
      this.#people,
    );
    const onEmployers = groups.filter(({ company }) => company !== undefined);
    const mostCost = onEmployers.length === 0 ? Infinity : (EMPLOYER_BLOCK_COST * found.length * 32) / BLOCK;
    yield* this.#intersectPeople(
      found,
      onPeople.filter(({ compiled }) => compiled.blockCost <= mostCost),
    );
    const companies = yield* this.#intersectByEmployer(found, onEmployers);
    yield* this.#intersectPeople(
      found,
      onPeople.filter(({ compiled }) => compiled.blockCost > mostCost),
    );
    return companies;
  }

  /** Groups on companies only, and groups that either side may match. */
  *#intersectByEmployer(found: Bitmap, groups: readonly PredicateGroup[]): Steps<Bitmap | null> {
    if (groups.length === 0 || isEmptyBitmap(found)) return null;
    const onCompanies = groups.flatMap(({ person, company, exclude }) =>
      company === undefined || person !== undefined ? [] : { predicate: company, exclude },
    );
    const companies = onCompanies.length > 0 ? yield* this.#matchCompanies(onCompanies, found) : null;
    const onEither: EmployerFilter[] = [];
    for (const group of groups) if (group.person !== undefined) onEither.push(yield* this.#matchEither(group, found));
    // One pass for all of them: employer ids are scattered in memory, and fetching them is the slow part.
    yield* this.#employers.filter(found, [...(companies === null ? [] : [{ companies, people: null, exclude: false }]), ...onEither]);
    return companies;
  }

  *#matchEither({ person, company, exclude }: PredicateGroup, found: Bitmap): Steps<EmployerFilter> {
    const people = found.slice();
    yield* this.#intersectPeople(people, yield* compileSteps([{ predicate: person ?? any([]), exclude: false }], this.#people));
    return { companies: yield* this.#matchCompanies([{ predicate: company ?? any([]), exclude: false }], found), people, exclude };
  }

  *#intersectPeople(found: Bitmap, steps: readonly PredicateStep[]): Steps<void> {
    yield* intersect(found, steps, found.length * 32, (row) => this.#people.termsOf(row));
  }

  /**
   * The companies that pass all predicates, by the ids of all their domains. Only employers of `found` are certain to be correct. Id 0
   * (no employer) counts as a company without terms.
   */
  *#matchCompanies(predicates: readonly SignedPredicate[], found: Bitmap): Steps<Bitmap> {
    const steps = yield* compileSteps(predicates, this.#companies);
    const size = Number(this.#lastCompany.get()?.['n'] ?? 0) + 1;
    const cost = steps.reduce((sum, { compiled }) => sum + compiled.blockCost, 0);
    const companies = emptyBitmap(size);
    const { aliases } = this.#employers;
    if (hasAtMost(found, cost / EMPLOYER_LOOKUP_COST)) {
      let count = 0;
      for (const id of this.#employers.employersOf(found)) {
        setBit(companies, aliases.companyOf(id));
        if (++count % EMPLOYERS_A_UNIT === 0) yield 1;
      }
    } else companies.fill(-1);
    yield* intersect(companies, steps, size, (id) => this.#companies.termsOf(id));
    aliases.copyToAliases(companies);
    return companies;
  }

  /** Not counted as work: the result is cached. */
  *#readEverybody(): Steps<Pick<Matches, 'found' | 'total'>> {
    const everybody = emptyBitmap(Number(this.#lastPerson.get()?.['n'] ?? 0) + 1);
    const every = this.#people.list(EVERY);
    for (let block = 0; block * BLOCK < everybody.length * 32; block++) {
      every.addTo(block, everybody.subarray((block * BLOCK) / 32, ((block + 1) * BLOCK) / 32));
      yield 0;
    }
    return { found: everybody, total: countBits(everybody) };
  }
}

interface SignedPredicate {
  readonly predicate: Predicate;
  readonly exclude: boolean;
}

function* compileSteps(predicates: readonly SignedPredicate[], reader: PostingReader): Steps<PredicateStep[]> {
  const steps: PredicateStep[] = [];
  for (const { predicate, exclude } of predicates) steps.push({ compiled: yield* compilePredicate(predicate, reader), exclude });
  return steps;
}
