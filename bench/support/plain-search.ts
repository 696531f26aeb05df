/** What searches have to find, by looking at everybody once. */
import type { SparseRecord } from '../../src/service/records.ts';
import { NO_HEADCOUNT, rankOf, type Sort } from '../../src/service/search/sort-keys.ts';
import type { Store } from '../../src/service/store/store.ts';
import { PlainCompanies } from '../../test/service/plain-companies.ts';
import { meetsAll, type Employee } from '../../test/service/plain-scan.ts';

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
  /** The first of all. */
  readonly places: readonly Place[];
}

export class PlainSearch {
  readonly #store: Store;
  readonly #most: number;
  readonly #today = new Date().toISOString().slice(0, 10);

  /** @param most how many of each answer are wanted */
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
        this.#insert(answer.places, { key: keyOf(row, one, answer.question.sort), id: row['id'] as string }, answer.question.descending ? -1 : 1);
      }
    }
    return found;
  }

  #employee(row: Readonly<Record<string, unknown>>, companies: PlainCompanies): Employee {
    const person = { ...(JSON.parse(row['doc'] as string) as SparseRecord), updated_at: new Date(row['observed_at'] as number).toISOString() };
    const domain = row['company_domain'];
    return { person, company: companies.shownFor(domain) ?? {}, worksAt: (one) => companies.domainOf(one) === companies.domainOf(domain), signals: [], today: this.#today };
  }

  #insert(places: Place[], place: Place, sign: 1 | -1): void {
    const last = places.at(-1);
    if (places.length === this.#most && last !== undefined && sign * compare(place, last) > 0) return;
    const at = places.findIndex((other) => sign * compare(place, other) < 0);
    places.splice(at === -1 ? places.length : at, 0, place);
    if (places.length > this.#most) places.pop();
  }
}

/** By domain; of each what is asked of companies here, and no more: all of them are kept in memory, since looking one up for each of its people would take longer than all else. */
function companiesOf(store: Store): PlainCompanies {
  const companies = new PlainCompanies();
  for (const { domain, doc } of store.prepare('SELECT domain, doc FROM companies').iterate()) {
    const { domain_aliases: aliases, name, legal_name, employees, revenue_usd, industry, stack, founded_year } = JSON.parse(doc as string) as SparseRecord;
    companies.add(domain, aliases, { name, legal_name, employees, revenue_usd, industry, stack, founded_year });
  }
  return companies;
}

/** What somebody is sorted by. */
function keyOf(row: Readonly<Record<string, unknown>>, { person, company }: Employee, sort: Sort): string | number {
  switch (sort) {
    case 'relevance': {
      // Where one works counts as known, too, and when it was reported does not.
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

/** As SQLite compares: texts by their bytes. */
function compare(one: Place, other: Place): number {
  return compareKeys(one.key, other.key) || compareKeys(one.id, other.id);
}

function compareKeys(one: string | number, other: string | number): number {
  if (typeof one === 'number' || typeof other === 'number') return Number(one) - Number(other);
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
