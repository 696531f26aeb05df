/** Companies into the store: recognised by their domain, merged with what is known of them. */
import type { StatementSync } from 'node:sqlite';
import type { IndexWriter } from '../search/index-writer.ts';
import type { SparseRecord } from '../records.ts';
import { TermCollector, type TermTable } from '../search/term-table.ts';
import { aliasPutter, domainsReader, type PutAliases } from './domain-aliases.ts';
import { furtherId } from './ids.ts';
import { readKept } from './kept-columns.ts';
import { AS_TEXT, bytesIn, TextCollector, textIn, type Texts } from './kept-texts.ts';
import { mergeCompany } from './merge-company.ts';
import type { Provenance } from './merge.ts';
import type { Collected } from './prepared.ts';
import { COMPANY_KEPT_COLUMNS, companyColumns, derivedId, newCompanyColumns, placeAndTrade, prepareCompany, type PlaceAndTrade, type PreparedCompany } from './prepared-company.ts';
import { MAX_DOC, TOO_LARGE, type Put } from './put.ts';
import type { Store } from './store.ts';

export type PutCompany = (raw: SparseRecord, from: Provenance) => Put;
/** @param collected of the company and others: what it is found by when it is new, and its text */
export type PutPreparedCompany = (company: PreparedCompany, source: number, collected: Collected) => Put;

/** Replaces what is kept of the company at a domain, which comes last. */
export function companyUpdate(store: Store): StatementSync {
  return store.prepare(`UPDATE companies SET ${COMPANY_KEPT_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE domain = ?`);
}

/** Puts one company as it comes; within a transaction, at whose end `index` is flushed. */
export function companyWriter(store: Store, index: IndexWriter): PutCompany {
  const put = preparedCompanyWriter(store, index);
  const [terms, texts] = [new TermCollector(), new TextCollector()];
  return (raw, { source, atMs }) => {
    const company = prepareCompany({ ...raw }, atMs, { terms, texts });
    return 'code' in company ? { kind: 'rejected', ...company } : put(company, source, { terms: terms.take(), texts: texts.take() });
  };
}

/** Puts one company that was made ready; within a transaction, at whose end `index` is flushed. */
export function preparedCompanyWriter(store: Store, index: IndexWriter): PutPreparedCompany {
  const putAliases = aliasPutter(store, index);
  const find = store.prepare('SELECT * FROM companies WHERE domain = ?');
  const { add, addWhole } = adder(store, index, putAliases);
  /** Where one is new, the next one is too, as a rule: then it is not looked for first. */
  let isNews = true;
  const update = companyUpdate(store);
  const ofSignals = signalUpdater(store, index);
  return (company, source, collected) => {
    const { domain, dropped, atMs } = company;
    if (isNews && add(company, source, collected)) return { kind: 'put', change: 'new', dropped };
    const found = find.get(domain);
    isNews = found === undefined;
    if (found === undefined) return addWhole(company, source, collected);
    const given = textIn(collected.texts, company);
    if (found['doc'] === given && found['observed_at'] === atMs && found['field_sources'] === null) return { kind: 'put', change: 'same', dropped };
    const { record, change } = mergeCompany(readKept(found), JSON.parse(given) as SparseRecord, { source, atMs });
    if (change === 'same') return { kind: 'put', change, dropped };
    const { doc } = record;
    const text = JSON.stringify(doc);
    if (text.length > MAX_DOC) return TOO_LARGE;
    update.run(...companyColumns(record, text), domain);
    if (change !== 'times') index.company(domain);
    if (company.namesAliases) putAliases(domain, doc);
    const now = placeAndTrade(doc);
    if (found['country'] !== now.country || found['industry'] !== now.industry) ofSignals(domain, now);
    return { kind: 'put', change, dropped };
  };
}

interface Adder {
  /** Puts one as it came. False: its domain or its id is there already, or it takes more than that, and nothing is changed. */
  readonly add: (company: PreparedCompany, source: number, collected: Collected) => boolean;
  /** Puts one whose domain is not there. */
  readonly addWhole: PutPreparedCompany;
}

function adder(store: Store, index: IndexWriter, putAliases: PutAliases): Adder {
  const taken = store.prepare('SELECT 1 FROM companies WHERE id = ?');
  const values = COMPANY_KEPT_COLUMNS.map((name) => (name === 'doc' ? AS_TEXT : '?')).join(', ');
  const insert = store.prepare(`INSERT INTO companies (${COMPANY_KEPT_COLUMNS.join(', ')}, domain, id, terms) VALUES (${values}, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const ofSignals = signalUpdater(store, index);
  const put = (company: PreparedCompany, source: number, table: TermTable, id: string, text: string | Texts): boolean => {
    const { domain, employees } = company;
    const terms = index.termsOfNew(domain, table, company);
    if (insert.run(...newCompanyColumns(company, source, text), domain, id, terms).changes === 0) return false;
    index.newCompany(domain, employees, terms, table, company);
    // Signals may be there before their company.
    ofSignals(domain, company);
    return true;
  };
  return {
    add: (company, source, { terms, texts }) => !company.isTooLarge && !company.namesAliases && put(company, source, terms, company.newId, bytesIn(texts, company)),
    addWhole(company, source, { terms, texts }) {
      const { domain, dropped } = company;
      const isTaken = taken.get(company.newId) !== undefined;
      const id = isTaken ? freeId(company, (one) => taken.get(one) === undefined) : company.newId;
      const doc = isTaken || company.namesAliases ? { ...(JSON.parse(textIn(texts, company)) as SparseRecord), id } : null;
      const text = isTaken ? JSON.stringify(doc) : null;
      if (text === null ? company.isTooLarge : text.length > MAX_DOC) return TOO_LARGE;
      put(company, source, terms, id, text ?? bytesIn(texts, company));
      if (doc !== null && company.namesAliases) putAliases(domain, doc);
      return { kind: 'put', change: 'new', dropped };
    },
  };
}

/** An id for a company when the one that it came with is another's. */
function freeId({ domain, id, newId }: PreparedCompany, isFree: (id: string) => boolean): string {
  const derived = derivedId(domain);
  return derived !== newId && isFree(derived) ? derived : furtherId(derived, id);
}

/** Filters of signals go by what is known of the company now. */
function signalUpdater(store: Store, index: IndexWriter): (domain: string, now: PlaceAndTrade) => void {
  const update = store.prepare('UPDATE signals SET country = ?, industry = ? WHERE company_domain = ?');
  const domainsOf = domainsReader(store);
  return (domain, { country, industry }) => {
    if (index.hasSignals()) for (const one of domainsOf(domain)) update.run(country, industry, one);
  };
}
