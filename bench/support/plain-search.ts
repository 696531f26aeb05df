/** The expected results of searches, from one scan over all people. */
import type { SparseRecord } from '../../src/service/records/whole-record.ts';
import { NO_HEADCOUNT, rankOf, type Sort } from '../../src/service/store/index/sort-keys.ts';
import type { Store } from '../../src/service/store/store.ts';
import { PlainCompanies } from '../../test/service/search/plain-companies.ts';
import { meetsAll, type Employee } from '../../test/service/search/plain-filters.ts';

export interface Question {
  readonly filters: Readonly<Record<string, readonly string[]>>;
  readonly sort: Sort;
  readonly descending: boolean;
}

export interface Place {
  readonly key: string | number;
  readonly id: string;
}

export interface PlainAnswer {
  readonly total: number;
  /** The first candidates in the order. */
  readonly places: readonly Place[];
}

export class PlainSearch {
  readonly #store: Store;
  readonly #most: number;
  readonly #today = new Date().toISOString().slice(0, 10);

  /** @param most candidates to find for each query */
  constructor(store: Store, most: number) {
    this.#store = store;
    this.#most = most;
  }

  answers(questions: readonly Question[]): readonly PlainAnswer[] {
    const found = questions.map((question) => ({ question, total: 0, places: [] as Place[] }));
    const companies = companiesOf(this.#store);
    for (const row of this.#store.prepare('SELECT * FROM people').iterate()) {
      const one = this.#employee(row, companies);
      for (const answer of found) {
        if (!meetsAll(answer.question.filters, one)) continue;
        answer.total++;
        this.#insert(
          answer.places,
          { key: keyOf(row, one, answer.question.sort), id: row['id'] as string },
          answer.question.descending ? -1 : 1,
        );
      }
    }
    return found;
  }

  #employee(row: Readonly<Record<string, unknown>>, companies: PlainCompanies): Employee {
    const person = {
      ...(JSON.parse(row['doc'] as string) as SparseRecord),
      updated_at: new Date(row['observed_at'] as number).toISOString(),
    };
    const domain = row['company_domain'];
    return {
      person,
      company: companies.shownFor(domain) ?? {},
      worksAt: (one) => companies.domainOf(one) === companies.domainOf(domain),
      signals: [],
      today: this.#today,
    };
  }

  #insert(places: Place[], place: Place, sign: 1 | -1): void {
    const last = places.at(-1);
    if (places.length === this.#most && last !== undefined && sign * compare(place, last) > 0) return;
    const at = places.findIndex((other) => sign * compare(place, other) < 0);
    places.splice(at === -1 ? places.length : at, 0, place);
    if (places.length > this.#most) places.pop();
  }
}

/**
 * Companies by domain, with the fields that searches use. They stay in memory, because a lookup for each person would take longer than
 * everything else.
 */
function companiesOf(store: Store): PlainCompanies {
  const companies = new PlainCompanies();
  for (const { domain, doc } of store.prepare('SELECT domain, doc FROM companies').iterate()) {
    const {
      domain_aliases: aliases,
      name,
      legal_name,
      employees,
      revenue_usd,
      industry,
      stack,
      founded_year,
    } = JSON.parse(doc as string) as SparseRecord;
    companies.add(domain, aliases, { name, legal_name, employees, revenue_usd, industry, stack, founded_year });
  }
  return companies;
}

/** The sort key of a person. */
function keyOf(row: Readonly<Record<string, unknown>>, { person, company }: Employee, sort: Sort): string | number {
  switch (sort) {
    case 'relevance': {
      // A known employer counts as a known field, and the time of its report does not.
      const { updated_at: _time, ...known } = person;
      return rankOf(row['company_domain'] === null ? known : { ...known, company_domain: row['company_domain'] });
    }
    case 'updated_at':
      return row['observed_at'] as number;
    case 'name':
      return row['name_key'] as string;
    case 'headcount':
      return (company['employees'] as number | undefined) ?? NO_HEADCOUNT;
    default:
      return sort satisfies never;
  }
}

/** Compares like SQLite: texts by their bytes. */
function compare(one: Place, other: Place): number {
  return compareKeys(one.key, other.key) || compareKeys(one.id, other.id);
}

function compareKeys(one: string | number, other: string | number): number {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) - Number(other);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
