/** Keeps what search looks into in step with the records: collected during a transaction, written at its end. */
import type { SparseRecord } from '../records.ts';
import { domainsReader, ownerReader } from '../store/domain-aliases.ts';
import { onceATransaction } from '../store/once.ts';
import { newestSignals, shownSignals } from '../store/shown-signals.ts';
import type { Store } from '../store/store.ts';
import { AliasWriter } from './aliases.ts';
import { DomainNumbers, EmployerWriter } from './employers.ts';
import { dayOf } from './numbers.ts';
import { PostingWriter } from './postings.ts';
import { sortWriter, type SortKeys, type SortWriter } from './sort-keys.ts';
import { isLeftOut, TermCollector, type TermSpan, type TermTable } from './term-table.ts';
import { companyTerms, type SignalFacts } from './terms.ts';

/** Hiring signals of a company that it is found by: the newest. */
const MAX_HIRING_SIGNALS = 50;

export class IndexWriter {
  readonly #people: PostingWriter;
  readonly #companies: PostingWriter;
  readonly #domains: DomainNumbers;
  readonly #employers: EmployerWriter;
  readonly #aliases: AliasWriter;
  readonly #sorts: SortWriter;
  readonly #version;
  #seenVersion: unknown = null;
  #begun = false;
  readonly #changedCompanies = new Set<string>();
  readonly #shownSignals;
  readonly #hiring;
  readonly #domainsOf;
  readonly #ownerOf;
  readonly #terms = new TermCollector();
  /** Whether there are signals at all; for those that come within the transaction `company` is told of each. */
  readonly hasSignals: () => boolean;
  #transactions = 0;
  readonly #statements;

  constructor(store: Store) {
    this.#sorts = sortWriter(store);
    this.#people = new PostingWriter(store, 'person');
    this.#companies = new PostingWriter(store, 'company');
    this.#domains = new DomainNumbers(store);
    this.#employers = new EmployerWriter(store);
    this.#aliases = new AliasWriter(store, this.#domains, this);
    this.#shownSignals = shownSignals(store);
    this.#hiring = newestSignals(store, MAX_HIRING_SIGNALS, "type = 'hiring'");
    this.#domainsOf = domainsReader(store);
    this.#ownerOf = ownerReader(store);
    this.#version = store.prepare('PRAGMA data_version');
    this.#statements = {
      company: store.prepare('SELECT doc, employees, terms FROM companies WHERE domain = ?'),
      keep: store.prepare('UPDATE companies SET terms = ?, shown_signals = ? WHERE domain = ?'),
      days: store.prepare('SELECT type, max(occurred_at) AS at FROM signals WHERE company_domain = ? GROUP BY type'),
      signal: store.prepare('SELECT 1 FROM signals WHERE company_domain = ? LIMIT 1'),
    };
    const signals = store.prepare('SELECT 1 FROM signals LIMIT 1');
    this.hasSignals = onceATransaction(this, () => signals.get() !== undefined);
  }

  /** How many transactions have been written: what the store was asked once holds until there is one more. */
  get transactions(): number {
    return this.#transactions;
  }

  /** The person in row `seq`, who had the terms `before`, works at `domain` and has the terms of `span`; returns these as they are to be kept with the row. */
  person(seq: number, before: Uint8Array | null, table: TermTable, span: TermSpan, domain: string | null, keys: SortKeys): Uint8Array {
    this.#begin();
    this.#sorts.person(seq, keys);
    this.#employers.change(seq, domain === null ? null : this.#domains.give(domain));
    return this.#people.change(seq, before, table, span);
  }

  removePerson(seq: number, before: Uint8Array | null): void {
    this.#begin();
    this.#employers.change(seq, null);
    this.#sorts.person(seq, null);
    this.#people.change(seq, before, null, NOTHING);
  }

  /**
   * The terms of `span`, but for those of its signals, as they are to be kept with the company at this domain should it have no record yet. Null: it has signals,
   * or its terms were left out, and it is seen to at the end.
   */
  termsOfNew(domain: string, table: TermTable, span: TermSpan): Uint8Array | null {
    this.#begin();
    if (isLeftOut(span) || (this.hasSignals() && this.#statements.signal.get(domain) !== undefined)) return null;
    return this.#companies.kept(table, span);
  }

  /** The company at this domain, which had no record, is kept with `terms`, which `termsOfNew` told right before. */
  newCompany(domain: string, employees: number | null, terms: Uint8Array | null, table: TermTable, span: TermSpan): void {
    this.#aliases.newCompany(domain);
    if (terms === null) {
      this.#changedCompanies.add(domain);
      return;
    }
    const number = this.#domains.give(domain);
    this.#sorts.company(number, employees);
    this.#companies.add(number, table, span);
  }

  /** The company at this domain, or a signal of it, has changed. */
  company(domain: string): void {
    this.#begin();
    this.#changedCompanies.add(domain);
  }

  /** As another domain of companies, this one has come to one of them, or gone. */
  alias(domain: string): void {
    this.#begin();
    this.#aliases.change(domain);
  }

  /** Writes it all; to be called within the transaction, after its last change. */
  flush(): void {
    this.#aliases.flush((company) => this.#changedCompanies.add(company));
    for (const domain of this.#changedCompanies) this.#indexCompany(domain);
    this.#changedCompanies.clear();
    this.#people.flush();
    this.#companies.flush();
    this.#employers.flush();
    this.#sorts.flush();
    this.#begun = false;
    this.#transactions++;
  }

  /** What was remembered holds only while nobody else writes. */
  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    const version = this.#version.get()?.['data_version'];
    if (version === this.#seenVersion) return;
    this.#people.forgetNumbers();
    this.#companies.forgetNumbers();
    this.#seenVersion = version;
  }

  #indexCompany(domain: string): void {
    const { company, keep, days } = this.#statements;
    const row = company.get(domain);
    if (row === undefined) {
      // Signals may be told of by another domain of their company; or be there before it, and it is indexed when it comes.
      const owner = this.#ownerOf(domain);
      if (owner !== null) this.#indexCompany(owner);
      return;
    }
    const domains = this.#domainsOf(domain);
    const newest: Record<string, number> = {};
    for (const { type, at } of domains.flatMap((one) => days.all(one))) newest[type as string] = Math.max(newest[type as string] ?? 0, dayOf(new Date(at as number).toISOString()) ?? 0);
    const facts: SignalFacts = { days: newest, hiring: this.#hiring(domains).map((doc) => (doc['data'] ?? {}) as SparseRecord) };
    const span = this.#terms.add(companyTerms(JSON.parse(row['doc'] as string) as SparseRecord, facts));
    const number = this.#domains.give(domain);
    keep.run(this.#companies.change(number, row['terms'] as Uint8Array | null, this.#terms.take(), span), this.#shownSignals(domains), domain);
    this.#sorts.company(number, row['employees'] as number | null);
  }
}

const NOTHING: TermSpan = { from: 0, to: 0 };
