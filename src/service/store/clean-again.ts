/** Records that were kept by earlier versions, as they would be kept today: cleaned, whole in their parts, and found by today's terms. */
import { isDeepStrictEqual } from 'node:util';
import { cleanRecord } from '../clean-record.ts';
import type { SparseRecord } from '../records.ts';
import { IMPORTED_COMPANY } from '../records/company.ts';
import type { Members } from '../records/field.ts';
import { IMPORTED_PERSON } from '../records/person.ts';
import { IMPORTED_SIGNAL } from '../records/signal.ts';
import { IndexWriter } from '../search/index-writer.ts';
import type { SignalType } from '../signal-types.ts';
import { TermCollector } from '../search/term-table.ts';
import { companyUpdate } from './company-writer.ts';
import { readKept } from './kept-columns.ts';
import type { KeptRecord } from './merge.ts';
import { otherAddressesOf } from './other-addresses.ts';
import { otherNumbersOf, otherNumberWriter } from './other-numbers.ts';
import { personUpdate } from './person-rows.ts';
import { keptPerson } from './person-writer.ts';
import { COMPANY_KEPT_COLUMNS, companyColumns } from './prepared-company.ts';
import { personColumns, PERSON_KEPT_COLUMNS, sortKeysOf, termsOf } from './prepared-person.ts';
import { SharedKeys } from './shared-keys.ts';
import type { Store } from './store.ts';

/** Rows that are in memory at a time: a record may have 256 KB. */
const ROWS_AT_ONCE = 256;
/** Rows after which the index is written: what it collects is in memory. */
const INDEXED_AT_ONCE = 8_192;

/** Columns that no index of the table has. */
const OF_THE_TEXT: readonly string[] = ['doc', 'lacks'];
const LACKS = PERSON_KEPT_COLUMNS.indexOf('lacks');

type Row = Readonly<Record<string, unknown>>;

/** Part of a migration: within its transaction. Times and sources stay, and so does what a record is known by where another has that already. */
export function cleanAgain(store: Store): void {
  const index = new IndexWriter(store);
  // Before the companies, with which those that they show are kept.
  eachRow(store, 'signals', index, signalCleaner(store));
  eachRow(store, 'companies', index, companyCleaner(store, index));
  eachRow(store, 'people', index, personCleaner(store, index));
}

/** Whether a text may have letters that are folded otherwise than they were before step 13: with marks that are vowels or make another letter, or apostrophes. None is Latin, but for a few. */
const FOLDED_ANEW = /[đĐıŉ\u02bc\u0370-\uffff]/;

/** Part of a migration: names and words of scripts other than Latin are found by what they are folded to today. Most records have none, and are left as they are. */
export function foldAgain(store: Store): void {
  const index = new IndexWriter(store);
  const concerned = (clean: (row: Row) => void) => (row: Row): void => {
    if (FOLDED_ANEW.test(row['doc'] as string)) clean(row);
  };
  // What a signal says a company is found by.
  eachRow(store, 'signals', index, concerned((row) => index.company(row['company_domain'] as string)));
  eachRow(store, 'companies', index, concerned(companyCleaner(store, index)));
  eachRow(store, 'people', index, concerned(personCleaner(store, index)));
}

/** A list of codes of industries of which not each has just six digits or fewer: those are found by the same as before step 16. */
const FOUND_BY_MORE_DIGITS = /"(?:naics|sic)":\[(?!(?:"\d{0,6}",?)*\])/;

/** Part of a migration: longer codes of industries are found by up to eight digits, and those with hyphens by their digits. */
export function codesAgain(store: Store): void {
  const index = new IndexWriter(store);
  eachRow(store, 'companies', index, ({ doc, domain }) => {
    if (FOUND_BY_MORE_DIGITS.test(doc as string)) index.company(domain as string);
  });
}

function eachRow(store: Store, table: string, index: IndexWriter, clean: (row: Row) => void): void {
  const next = store.prepare(`SELECT * FROM ${table} WHERE seq > ? ORDER BY seq LIMIT ${ROWS_AT_ONCE}`);
  let done = 0;
  for (let rows: Row[] = next.all(0); rows.length > 0; rows = next.all(rows.at(-1)?.['seq'] as number)) {
    rows.forEach(clean);
    done += rows.length;
    if (done % INDEXED_AT_ONCE === 0) index.flush();
  }
  index.flush();
}

function companyCleaner(store: Store, index: IndexWriter): (row: Row) => void {
  const update = companyUpdate(store);
  const ofSignals = store.prepare('UPDATE signals SET country = ?, industry = ? WHERE company_domain = ? AND (country IS NOT ?1 OR industry IS NOT ?2)');
  return (row) => {
    const domain = row['domain'] as string;
    const kept = cleaned(readKept(row), IMPORTED_COMPANY, ['id', 'domain']);
    const columns = companyColumns(kept, JSON.stringify(kept.doc));
    if (COMPANY_KEPT_COLUMNS.some((name, at) => columns[at] !== row[name])) {
      update.run(...columns, domain);
      const [, , , country = null, industry = null] = columns;
      ofSignals.run(country, industry, domain);
    }
    index.company(domain);
  };
}

function personCleaner(store: Store, index: IndexWriter): (row: Row) => void {
  const update = personUpdate(store);
  const updateText = store.prepare('UPDATE people SET doc = ?, lacks = ? WHERE seq = ?');
  const hasAddress = store.prepare('SELECT 1 FROM people WHERE email = ? AND seq <> ?');
  const termsBefore = store.prepare('SELECT terms FROM person_term_lists WHERE person = ?');
  const keepTerms = store.prepare('INSERT OR REPLACE INTO person_term_lists (person, terms) VALUES (?, ?)');
  const addresses = new SharedKeys(store, 'other_addresses', index);
  const collector = new TermCollector();
  const putNumbers = otherNumberWriter(store);
  return (row) => {
    const seq = row['seq'] as number;
    const before = keptPerson(row);
    const isTaken = (email: unknown): boolean => typeof email === 'string' && email !== before.doc['email'] && hasAddress.get(email, seq) !== undefined;
    const found = cleaned(before, IMPORTED_PERSON, ['id']);
    const kept = isTaken(found.doc['email']) ? cleaned(before, IMPORTED_PERSON, ['id', 'email']) : found;
    const { company_domain: domain, ...doc } = kept.doc;
    const text = JSON.stringify(doc);
    const columns = personColumns(kept, text);
    if (PERSON_KEPT_COLUMNS.some((name, at) => columns[at] !== row[name])) {
      // As a rule only the text has changed, and then no index of the table has to.
      if (PERSON_KEPT_COLUMNS.every((name, at) => OF_THE_TEXT.includes(name) || columns[at] === row[name])) updateText.run(text, columns[LACKS] ?? null, seq);
      else update.run(...columns, seq);
      addresses.forget(seq);
      addresses.put(seq, otherAddressesOf(doc));
    }
    putNumbers(seq, otherNumbersOf(doc), false);
    const terms = (termsBefore.get(seq)?.['terms'] as Uint8Array | undefined) ?? null;
    const span = collector.add(termsOf(doc, kept.base.atMs));
    const today = index.person(seq, terms, collector.take(), span, typeof domain === 'string' ? domain : null, sortKeysOf(kept));
    if (!isDeepStrictEqual(today, terms)) keepTerms.run(seq, today);
  };
}

function signalCleaner(store: Store): (row: Row) => void {
  const update = store.prepare('UPDATE signals SET doc = ? WHERE seq = ?');
  return (row) => {
    const kept = JSON.parse(row['doc'] as string) as SparseRecord;
    const type = row['type'] as SignalType;
    const { record } = cleanRecord(kept, IMPORTED_SIGNAL[type]);
    const text = JSON.stringify({ ...record, type, company: kept['company'], id: kept['id'], detected_at: kept['detected_at'] });
    if (text !== row['doc']) update.run(text, row['seq'] as number);
  };
}

/** A kept record with what of it is good today; the fields of `named` stay as they are. */
function cleaned(kept: KeptRecord, fields: Members, named: readonly string[]): KeptRecord {
  const { record } = cleanRecord(kept.doc, fields);
  for (const field of named) if (kept.doc[field] !== undefined) record[field] = kept.doc[field];
  const others = Object.fromEntries(Object.entries(kept.others).filter(([field, [, , contradicted]]) => record[field] !== undefined || contradicted !== undefined));
  return { ...kept, doc: record, others };
}
