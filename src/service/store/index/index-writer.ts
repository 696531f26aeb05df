/** Keeps the search index in step with the records. It collects the changes of a transaction, and writes them at its end. */
import type { SparseRecord } from '../../records/whole-record.ts';
import { domainsReader, ownerReader } from '../identity/domain-aliases.ts';
import { oncePerTransaction } from '../rows/once-per-transaction.ts';
import { newestSignals, shownSignals } from '../rows/shown-signals.ts';
import type { Store } from '../store.ts';
import { AliasWriter } from './aliases.ts';
import { DomainIds } from './domain-ids.ts';
import { EmployerWriter } from './employers.ts';
import { PostingWriter } from './posting-writer.ts';
import { sortWriter, type SortKeys, type SortWriter } from './sort-keys.ts';
import { isSkipped, TermCollector, type TermSpan, type TermTable } from './term-table.ts';
import { companyTerms, type SignalFacts } from './terms.ts';
import { dayOf } from '../../records/parse-date.ts';

/** The newest hiring signals of a company are indexed, up to this many. */
const MAX_HIRING_SIGNALS = 50;

export class IndexWriter {
  readonly #people: PostingWriter;
  readonly #companies: PostingWriter;
  readonly #domains: DomainIds;
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
  /** Whether the store has signals. New signals of the transaction reach `company`. */
  readonly hasSignals: () => boolean;
  #transactions = 0;
  readonly #statements;

  constructor(store: Store) {
    this.#sorts = sortWriter(store);
    this.#people = new PostingWriter(store, 'person');
    this.#companies = new PostingWriter(store, 'company');
    this.#domains = new DomainIds(store);
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
    this.hasSignals = oncePerTransaction(this, () => signals.get() !== undefined);
  }

  /** Counts flushed transactions. Answers of the store may be cached until the count changes. */
  get transactions(): number {
    return this.#transactions;
  }

  /** Indexes the person in row `seq` with the terms of `span`, in place of `before`. Returns the term list to store with the row. */
  person(seq: number, before: Uint8Array | null, table: TermTable, span: TermSpan, domain: string | null, keys: SortKeys): Uint8Array {
    this.#begin();
    this.#sorts.person(seq, keys);
    this.#employers.change(seq, domain === null ? null : this.#domains.getOrAdd(domain));
    return this.#people.change(seq, before, table, span);
  }

  removePerson(seq: number, before: Uint8Array | null): void {
    this.#begin();
    this.#employers.change(seq, null);
    this.#sorts.person(seq, null);
    this.#people.change(seq, before, null, NOTHING);
  }

  /** The term list of a new company. Null when it has signals, or its terms were skipped; `flush` then indexes it. */
  termsOfNew(domain: string, table: TermTable, span: TermSpan): Uint8Array | null {
    this.#begin();
    if (isSkipped(span) || (this.hasSignals() && this.#statements.signal.get(domain) !== undefined)) return null;
    return this.#companies.termList(table, span);
  }

  /** Indexes a new company. @param terms the result of `termsOfNew` for it, called right before */
  newCompany(domain: string, employees: number | null, terms: Uint8Array | null, table: TermTable, span: TermSpan): void {
    this.#aliases.newCompany(domain);
    if (terms === null) {
      this.#changedCompanies.add(domain);
      return;
    }
    const number = this.#domains.getOrAdd(domain);
    this.#sorts.company(number, employees);
    this.#companies.add(number, table, span);
  }

  /** To be called when the company at this domain, or one of its signals, changes. */
  company(domain: string): void {
    this.#begin();
    this.#changedCompanies.add(domain);
  }

  /** To be called when this domain becomes an alias of a company, or stops being one. */
  alias(domain: string): void {
    this.#begin();
    this.#aliases.change(domain);
  }

  /** Writes the changes. To be called within the transaction, after its last change. */
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

  /** Cached ids are valid until another connection writes. */
  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    const version = this.#version.get()?.['data_version'];
    if (version === this.#seenVersion) return;
    this.#people.forgetIds();
    this.#companies.forgetIds();
    this.#seenVersion = version;
  }

  #indexCompany(domain: string): void {
    const { company, keep, days } = this.#statements;
    const row = company.get(domain);
    if (row === undefined) {
      // The signals' domain may be an alias. Without an owner, they wait for their company.
      const owner = this.#ownerOf(domain);
      if (owner !== null) this.#indexCompany(owner);
      return;
    }
    const domains = this.#domainsOf(domain);
    const newest: Record<string, number> = {};
    for (const { type, at } of domains.flatMap((one) => days.all(one)))
      newest[type as string] = Math.max(newest[type as string] ?? 0, dayOf(new Date(at as number).toISOString()) ?? 0);
    const facts: SignalFacts = { days: newest, hiring: this.#hiring(domains).map((doc) => (doc['data'] ?? {}) as SparseRecord) };
    const span = this.#terms.add(companyTerms(JSON.parse(row['doc'] as string) as SparseRecord, facts));
    const number = this.#domains.getOrAdd(domain);
    keep.run(
      this.#companies.change(number, row['terms'] as Uint8Array | null, this.#terms.take(), span),
      this.#shownSignals(domains),
      domain,
    );
    this.#sorts.company(number, row['employees'] as number | null);
  }
}

const NOTHING: TermSpan = { from: 0, to: 0 };
