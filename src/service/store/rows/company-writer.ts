/** Upserts companies: a company is recognised by its domain and merged with the stored record. */
import type { IndexWriter } from '../index/index-writer.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { TermCollector, type TermTable } from '../index/term-table.ts';
import { domainAliasWriter, domainsReader, type WriteAliases } from '../identity/domain-aliases.ts';
import { fallbackId } from '../identity/ids.ts';
import { fieldSources, readStored } from './record-columns.ts';
import { AS_TEXT, bytesIn, TextCollector, textIn, type Texts } from './text-blobs.ts';
import { mergeCompany } from '../merge/merge-company.ts';
import type { Provenance } from '../merge/merge.ts';
import type { Collected } from './normalised.ts';
import {
  STORED_COMPANY_COLUMNS,
  companyColumns,
  derivedId,
  newCompanyColumns,
  countryAndIndustry,
  normaliseCompany,
  type CountryAndIndustry,
  type NormalisedCompany,
} from './normalised-company.ts';
import { MAX_RECORD_CHARS, TOO_LARGE, type UpsertResult } from './upsert-result.ts';
import type { Store } from '../store.ts';

type UpsertCompany = (raw: SparseRecord, from: Provenance) => UpsertResult;
/** @param collected the terms and texts of the batch that the company is part of */
type UpsertPreparedCompany = (company: NormalisedCompany, source: number, collected: Collected) => UpsertResult;

/** Upserts one report of a company. Call it within a transaction that ends with a flush of `index`. */
export function companyWriter(store: Store, index: IndexWriter): UpsertCompany {
  const put = normalisedCompanyWriter(store, index);
  const [terms, texts] = [new TermCollector(), new TextCollector()];
  return (raw, { source, atMs }) => {
    const company = normaliseCompany({ ...raw }, atMs, { terms, texts });
    return 'code' in company ? { kind: 'rejected', ...company } : put(company, source, { terms: terms.take(), texts: texts.take() });
  };
}

/** Upserts one normalised company. Call it within a transaction that ends with a flush of `index`. */
export function normalisedCompanyWriter(store: Store, index: IndexWriter): UpsertPreparedCompany {
  const writeAliases = domainAliasWriter(store, index);
  const find = store.prepare('SELECT * FROM companies WHERE domain = ?');
  const { add, addComplete } = adder(store, index, writeAliases);
  /** After a new company the next one is probably new too, so it is inserted without a lookup. */
  let expectsNew = true;
  const update = store.prepare(`UPDATE companies SET ${STORED_COMPANY_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE domain = ?`);
  const again = store.prepare('UPDATE companies SET source = ?, observed_at = ?, field_sources = ? WHERE domain = ?');
  const ofSignals = signalUpdater(store, index);
  return (company, source, collected) => {
    const { domain, dropped, atMs } = company;
    if (expectsNew && add(company, source, collected)) return { kind: 'put', change: 'new', dropped };
    const found = find.get(domain);
    expectsNew = found === undefined;
    if (found === undefined) return addComplete(company, source, collected);
    const given = textIn(collected.texts, company);
    if (found['doc'] === given && isOfOneReport(found)) {
      if (atMs <= (found['observed_at'] as number)) return { kind: 'put', change: 'same', dropped };
      // The same report again, and newer: only its time and source change. The id keeps those of the first report.
      const { source: firstSource, observed_at: firstMs, field_sources: sources } = found;
      again.run(
        source,
        atMs,
        (sources as string | null) ?? fieldSources({ others: { id: [firstSource as number, firstMs as number] } }),
        domain,
      );
      return { kind: 'put', change: 'times', dropped };
    }
    const { record, change } = mergeCompany(readStored(found), JSON.parse(given) as SparseRecord, { source, atMs });
    if (change === 'same') return { kind: 'put', change, dropped };
    const { doc } = record;
    const text = JSON.stringify(doc);
    if (text.length > MAX_RECORD_CHARS) return TOO_LARGE;
    update.run(...companyColumns(record, text), domain);
    if (change !== 'times') index.company(domain);
    if (company.namesAliases) writeAliases(domain, doc);
    const now = countryAndIndustry(doc);
    if (found['country'] !== now.country || found['industry'] !== now.industry) ofSignals(domain, now);
    return { kind: 'put', change, dropped };
  };
}

const ID_ALONE = /^\{"id":\[\d+,-?\d+\]\}$/;

/** Whether every field of a row but the id is of its newest report. */
function isOfOneReport(row: Readonly<Record<string, unknown>>): boolean {
  const sources = row['field_sources'];
  return sources === null || (typeof sources === 'string' && ID_ALONE.test(sources));
}

interface Adder {
  /** Inserts a company unchanged. Returns false, without a change, when its domain or id exists, or it needs `addComplete`. */
  readonly add: (company: NormalisedCompany, source: number, collected: Collected) => boolean;
  /** Inserts a company whose domain does not exist. */
  readonly addComplete: UpsertPreparedCompany;
}

function adder(store: Store, index: IndexWriter, writeAliases: WriteAliases): Adder {
  const taken = store.prepare('SELECT 1 FROM companies WHERE id = ?');
  const values = STORED_COMPANY_COLUMNS.map((name) => (name === 'doc' ? AS_TEXT : '?')).join(', ');
  const insert = store.prepare(
    `INSERT INTO companies (${STORED_COMPANY_COLUMNS.join(', ')}, domain, id, terms) VALUES (${values}, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const ofSignals = signalUpdater(store, index);
  const put = (company: NormalisedCompany, source: number, table: TermTable, id: string, text: string | Texts): boolean => {
    const { domain, employees } = company;
    const terms = index.termsOfNew(domain, table, company);
    if (insert.run(...newCompanyColumns(company, source, text), domain, id, terms).changes === 0) return false;
    index.newCompany(domain, employees, terms, table, company);
    // Signals may arrive before their company.
    ofSignals(domain, company);
    return true;
  };
  return {
    add: (company, source, { terms, texts }) =>
      !company.isTooLarge && !company.namesAliases && put(company, source, terms, company.newId, bytesIn(texts, company)),
    addComplete(company, source, { terms, texts }) {
      const { domain, dropped } = company;
      const isTaken = taken.get(company.newId) !== undefined;
      const id = isTaken ? freeId(company, (one) => taken.get(one) === undefined) : company.newId;
      const doc = isTaken || company.namesAliases ? { ...(JSON.parse(textIn(texts, company)) as SparseRecord), id } : null;
      const text = isTaken ? JSON.stringify(doc) : null;
      if (text === null ? company.isTooLarge : text.length > MAX_RECORD_CHARS) return TOO_LARGE;
      put(company, source, terms, id, text ?? bytesIn(texts, company));
      if (doc !== null && company.namesAliases) writeAliases(domain, doc);
      return { kind: 'put', change: 'new', dropped };
    },
  };
}

/** Another id, if the reported one belongs to another company. */
function freeId({ domain, id, newId }: NormalisedCompany, isFree: (id: string) => boolean): string {
  const derived = derivedId(domain);
  return derived !== newId && isFree(derived) ? derived : fallbackId(derived, id);
}

/** Copies country and industry of the company to its signals, for their filters. */
function signalUpdater(store: Store, index: IndexWriter): (domain: string, now: CountryAndIndustry) => void {
  const update = store.prepare('UPDATE signals SET country = ?, industry = ? WHERE company_domain = ?');
  const domainsOf = domainsReader(store);
  return (domain, { country, industry }) => {
    if (index.hasSignals()) for (const one of domainsOf(domain)) update.run(country, industry, one);
  };
}
