/** Who meets all clauses of a search, as a set of people's rows. */
import type { Store } from '../store/store.ts';
import { BLOCK, countBits, emptyBits, hasAtMost, isEmpty, setBit, type Bits } from './bitmap.ts';
import type { AtHand } from './column-range.ts';
import { criterionOf } from './criteria.ts';
import type { AtWork, EmployerReader } from './employers.ts';
import { any, type Expression } from './expression.ts';
import type { Clause } from './filters.ts';
import { narrow, type Demand } from './narrow.ts';
import { PostingReader } from './posting-reader.ts';
import { EVERY } from './terms.ts';

/** Looking up where somebody works and what is known of it takes as long as reading so many blocks. */
const LOOK_UP_COST = 3;

/** Looking up where each of many people works takes as long as reading so many sets of them. */
const SETS_AN_EMPLOYER = 4;

/** Bytes of sets that are kept as they were read: there are about four people to a company. */
const ROOM = { people: 16 * 1024 * 1024, companies: 14 * 1024 * 1024 };

/** Who meets it all. */
export interface Matches {
  readonly found: Bits;
  /** How many they are. */
  readonly total: number;
  /** How many people there are in all. */
  readonly people: number;
  /** Companies, by the numbers of all their domains, at one of which each of them works; 0, which is where nobody works, may be among them. Null: any. */
  readonly companies: Bits | null;
}

export class Matcher {
  readonly #people: PostingReader;
  readonly #companies: PostingReader;
  readonly #employers: EmployerReader;
  readonly #lastPerson;
  readonly #lastCompany;
  #everybody: Pick<Matches, 'found' | 'total'> | null = null;

  constructor(store: Store, employers: EmployerReader, atHand: Readonly<Record<'people' | 'companies', AtHand>>) {
    this.#people = new PostingReader(store, 'person', ROOM.people, atHand.people);
    this.#companies = new PostingReader(store, 'company', ROOM.companies, atHand.companies);
    this.#employers = employers;
    this.#lastPerson = store.prepare('SELECT max(seq) AS n FROM people');
    this.#lastCompany = store.prepare('SELECT max(id) AS n FROM domains');
  }

  /** The store has changed, and whoever has `employers` and `atHand` was told. */
  forget(): void {
    this.#everybody = null;
    this.#people.forget();
    this.#companies.forget();
  }

  matching(clauses: readonly Clause[]): Matches {
    const { found: everybody, total: people } = (this.#everybody ??= this.#readEverybody());
    const found = everybody.slice();
    const companies = this.#narrow(found, clauses);
    return { found, total: clauses.length === 0 ? people : countBits(found), people, companies };
  }

  /**
   * What is asked of people alone comes first, then what is asked of companies: each step looks only at those who are left. What takes longer of people than to look up where all of them work is left
   * until then. Returns the companies at which all of these work; null: any.
   */
  #narrow(found: Bits, clauses: readonly Clause[]): Bits | null {
    const ofPeople = demandsOf(clauses.flatMap(({ person, company, exclude }) => (person === undefined || company !== undefined ? [] : { expression: person, exclude })), this.#people);
    const ofEmployers = clauses.filter(({ company }) => company !== undefined);
    const most = ofEmployers.length === 0 ? Infinity : (SETS_AN_EMPLOYER * found.length * 32) / BLOCK;
    this.#narrowPeople(found, ofPeople.filter(({ criterion }) => criterion.cost <= most));
    const companies = this.#narrowByEmployer(found, ofEmployers);
    this.#narrowPeople(found, ofPeople.filter(({ criterion }) => criterion.cost > most));
    return companies;
  }

  /** What is asked of companies alone, and of either. */
  #narrowByEmployer(found: Bits, clauses: readonly Clause[]): Bits | null {
    if (clauses.length === 0 || isEmpty(found)) return null;
    const ofCompanies = clauses.flatMap(({ person, company, exclude }) => (company === undefined || person !== undefined ? [] : { expression: company, exclude }));
    const companies = ofCompanies.length > 0 ? this.#companiesWith(ofCompanies, found) : null;
    const ofEither = clauses.filter(({ person }) => person !== undefined).map((clause) => this.#either(clause, found));
    // In one go: it takes long to come by where people work who stand far apart.
    this.#employers.narrow(found, [...(companies === null ? [] : [{ companies, people: null, exclude: false }]), ...ofEither]);
    return companies;
  }

  #either({ person, company, exclude }: Clause, found: Bits): AtWork {
    const people = found.slice();
    this.#narrowPeople(people, demandsOf([{ expression: person ?? any([]), exclude: false }], this.#people));
    return { companies: this.#companiesWith([{ expression: company ?? any([]), exclude: false }], found), people, exclude };
  }

  #narrowPeople(found: Bits, demands: readonly Demand[]): void {
    narrow(found, demands, found.length * 32, (row) => this.#people.termsOf(row));
  }

  /** The companies that meet it all, of those at least at which somebody of `found` works, by all their domains; 0, which is where nobody works, among them as if it were a company of which nothing is known. */
  #companiesWith(asked: readonly Asked[], found: Bits): Bits {
    const demands = demandsOf(asked, this.#companies);
    const size = Number(this.#lastCompany.get()?.['n'] ?? 0) + 1;
    const cost = demands.reduce((sum, { criterion }) => sum + criterion.cost, 0);
    const companies = emptyBits(size);
    const { aliases } = this.#employers;
    if (hasAtMost(found, cost / LOOK_UP_COST)) for (const number of this.#employers.numbersOf(found)) setBit(companies, aliases.companyOf(number));
    else companies.fill(-1);
    narrow(companies, demands, size, (number) => this.#companies.termsOf(number));
    aliases.spread(companies);
    return companies;
  }

  #readEverybody(): Pick<Matches, 'found' | 'total'> {
    const everybody = emptyBits(Number(this.#lastPerson.get()?.['n'] ?? 0) + 1);
    const every = this.#people.posting(EVERY);
    for (let block = 0; block * BLOCK < everybody.length * 32; block++) every.addTo(block, everybody.subarray((block * BLOCK) / 32, ((block + 1) * BLOCK) / 32));
    return { found: everybody, total: countBits(everybody) };
  }
}

interface Asked {
  readonly expression: Expression;
  readonly exclude: boolean;
}

function demandsOf(asked: readonly Asked[], reader: PostingReader): Demand[] {
  return asked.map(({ expression, exclude }) => ({ criterion: criterionOf(expression, reader), exclude }));
}
