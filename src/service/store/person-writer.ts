/** People into the store: recognised by what they are known by, merged with what is known of them. */
import type { SparseRecord } from '../records.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { isLeftOut, TermCollector } from '../search/term-table.ts';
import { textOrNull } from '../values.ts';
import { furtherId, namedId, ownId } from './ids.ts';
import { readKept } from './kept-columns.ts';
import { bytesIn, TextCollector, textIn, type Texts } from './kept-texts.ts';
import type { NameAt } from './employer.ts';
import { withoutMain } from './former-keys.ts';
import { jobChangeNoter } from '../webhooks/note-job-change.ts';
import { mergePerson } from './merge-person.ts';
import type { KeptRecord, Provenance } from './merge.ts';
import { onceATransaction } from './once.ts';
import { isOfFunction, otherAddressesOf } from './other-addresses.ts';
import { otherNumbersOf } from './other-numbers.ts';
import { PersonRows, type NewRow, type Row } from './person-rows.ts';
import type { Collected } from './prepared.ts';
import { newFieldSources, newPersonColumns, personColumns, preparePerson, sortKeysOf, termsOf, type PreparedPerson } from './prepared-person.ts';
import type { PreparedCompany } from './prepared-company.ts';
import { MAX_DOC, TOO_LARGE, type Put, type Rejected } from './put.ts';
import { anySuppression, suppressionTest, tracesOfId, wordsWith, type Traces } from './suppressions.ts';
import type { Store } from './store.ts';

/** `learntMs`: when the status of the address was learnt (epoch milliseconds), where that is known to be another time than the record's. */
export type PutPerson = (raw: SparseRecord, from: Provenance, learntMs?: number | null) => Put;
/** @param collected of the person and others: what they are found by when they are new, and their texts @param company that of where they work, where it came with them */
export type PutPreparedPerson = (person: PreparedPerson, source: number, collected: Collected, company?: PreparedCompany | null) => Put;

const NO_KEYS: readonly string[] = [];
const SUPPRESSED: Rejected = { kind: 'rejected', code: 'suppressed', detail: 'this person asked to be removed' };

/** Puts one person as they come; within a transaction, at whose end `index` is flushed. `company_domain` says where one works. */
export function personWriter(store: Store, index: IndexWriter): PutPerson {
  const put = preparedPersonWriter(store, index);
  const [terms, texts] = [new TermCollector(), new TextCollector()];
  return (raw, { source, atMs }, learntMs = null) => {
    const person = preparePerson({ ...raw }, { atMs, learntMs, isEmployerDerived: false }, { terms, texts });
    return 'code' in person ? { kind: 'rejected', ...person } : put(person, source, { terms: terms.take(), texts: texts.take() });
  };
}

/** Puts one person who was made ready; within a transaction, at whose end `index` is flushed. */
export function preparedPersonWriter(store: Store, index: IndexWriter): PutPreparedPerson {
  const rows = new PersonRows(store, index);
  const isAnybody = onceATransaction(index, anySuppression(store));
  const isSuppressed = suppressionTest(store, isAnybody);
  const collector = new TermCollector();
  const noteJobChange = jobChangeNoter(store, index);
  const companyAt = store.prepare('SELECT doc FROM companies WHERE domain = ?');
  const nameAt: NameAt = (domain) => nameIn((companyAt.get(domain)?.['doc'] as string | undefined) ?? '{}');
  /** Null: somebody has the address, or this id. */
  const add = (person: PreparedPerson, id: string, source: number, { terms: table, texts }: Collected, isTaken = false): Put | null => {
    const { domain, nameKey: name, rank, others, otherNumbers, dropped, atMs } = person;
    const put: Put = { kind: 'put', change: 'new', dropped };
    if (isTaken || id !== person.newId || person.learntMs !== null || isLeftOut(person)) {
      // What was made ready ahead does not do.
      const { record } = mergePerson(null, { ...recordOf(person, texts, isTaken), id }, { source, atMs }, person);
      const { row, text, terms } = rowOf(record);
      if (text.length > MAX_DOC) return TOO_LARGE;
      const span = collector.add(terms);
      return rows.add(row, collector.take(), span) ? put : null;
    }
    if (person.isTooLarge) return TOO_LARGE;
    const row = { columns: newPersonColumns(person, source, texts), domain, keys: { id, name, rank, updatedMs: atMs }, others, otherNumbers, otherKeys: NO_KEYS };
    return rows.add(row, table, person) ? put : null;
  };
  // Nobody is found by the id where this is asked. One that was an erased one's is not given again.
  const mayHave = (id: string): boolean => !isAnybody() || !isSuppressed({ id, knownId: id });
  const addUnknown = (person: PreparedPerson, source: number, collected: Collected, isTaken: boolean): Put => {
    const first = mayHave(person.newId) ? add(person, person.newId, source, collected, isTaken) : null;
    if (first !== null) return first;
    const named = person.id === null || person.nameKey === '' ? null : namedId(person.id, person.nameKey);
    // They were known by that id and name.
    if (named !== null && !mayHave(named)) return SUPPRESSED;
    for (let id = named ?? ownId(person); ; id = id === named ? ownId(person) : furtherId(id, person.id)) {
      const put = mayHave(id) ? add(person, id, source, collected, isTaken) : null;
      if (put !== null) return put;
    }
  };
  /** Where one is new, the next one is too, as a rule: then they are not looked for first. */
  let isNews = true;
  /** Where one is known and nothing is new of them, so it is of the next. */
  let isAgain = true;
  return (person, source, collected, company = null) => {
    const { dropped, atMs } = person;
    const { texts } = collected;
    if (isAnybody() && isSuppressed(tracesOf(person))) return SUPPRESSED;
    const added = isNews && !person.isTooLarge && mayHave(person.newId) && rows.mayBeNew(person) ? add(person, person.newId, source, collected) : null;
    if (added !== null) return added;
    if (!isNews && isAgain && rows.isKept(person, bytesIn(texts, person))) return { kind: 'put', change: 'same', dropped };
    const { row: found, isTaken } = rows.find(person);
    isNews = found === null;
    if (found === null) return addUnknown(person, source, collected, isTaken);
    isAgain = isSame(found, person, texts);
    if (isAgain) return { kind: 'put', change: 'same', dropped };
    const kept = keptPerson(found);
    const nameNow: NameAt = (domain) => (company?.domain === domain ? nameIn(textIn(texts, company)) : null) ?? nameAt(domain);
    const { record, change } = mergePerson(kept, recordOf(person, texts, isTaken), { source, atMs }, person, nameNow);
    // A status that came without an address may be of any that they have.
    const isOfNone = person.email === null && person.status !== null && record.doc['email'] !== undefined;
    const put: Put = { kind: 'put', change, dropped: isOfNone ? [...dropped, 'email_status'] : dropped };
    if (change === 'same') return put;
    const { row, text, terms } = rowOf(record);
    if (text.length > MAX_DOC) return TOO_LARGE;
    const span = collector.add(terms);
    rows.replace(found['seq'] as number, row, collector.take(), span);
    if (change === 'fields') noteJobChange(kept, record, nameNow);
    return put;
  };
}

/** By what somebody is recognised who was erased and comes again. */
export function tracesOf({ email, profile, id, others, mobiles, nameKey }: Pick<PreparedPerson, 'email' | 'profile' | 'id' | 'others' | 'mobiles' | 'nameKey'>): Traces {
  const ofId = tracesOfId(id, nameKey);
  const ofFunction = email !== null && isOfFunction(email) ? wordsWith(email, nameKey) : [];
  return { ...ofId, emails: email === null ? others : [email, ...others], profile, mobiles, keyWords: [...(ofId.keyWords ?? []), ...ofFunction] };
}

/** What a company is called in its record's text. */
function nameIn(company: string): string | null {
  return textOrNull((JSON.parse(company) as SparseRecord)['name']);
}

/** What is kept of a record, and by which terms it is found. */
function rowOf(record: KeptRecord): { row: NewRow; text: string; terms: readonly number[] } {
  const { company_domain: employer, ...doc } = record.doc;
  const text = JSON.stringify(doc);
  const row = { columns: personColumns(record, text), domain: textOrNull(employer), keys: sortKeysOf(record), others: otherAddressesOf(doc), otherNumbers: otherNumbersOf(doc), otherKeys: record.aside?.keys ?? NO_KEYS };
  return { row, text, terms: termsOf(doc, record.base.atMs) };
}

/** A kept person with where they work. */
export function keptPerson(row: Row): KeptRecord {
  const domain = row['company_domain'];
  return readKept(row, domain === null ? {} : { company_domain: domain });
}

/** What they come with, and where they work. `isTaken`: their main address is somebody else's. */
function recordOf(person: PreparedPerson, texts: Texts, isTaken: boolean): SparseRecord {
  const { domain } = person;
  const told = JSON.parse(textIn(texts, person)) as SparseRecord;
  const record = isTaken ? withoutMain(told) : told;
  return domain === null ? record : Object.assign(record, { company_domain: domain });
}

/** Whether all that is known of somebody is what they come with again. */
function isSame(row: Row, person: PreparedPerson, texts: Texts): boolean {
  return person.learntMs === null && row['observed_at'] === person.atMs && row['company_domain'] === person.domain && row['field_sources'] === newFieldSources(person) && row['doc'] === textIn(texts, person);
}
