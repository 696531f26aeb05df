/** Upserts people: a person is recognised by identifying keys and merged with the stored record. */
import type { SparseRecord } from '../../records/whole-record.ts';
import type { IndexWriter } from '../index/index-writer.ts';
import { isSkipped, TermCollector } from '../index/term-table.ts';
import { textOrNull } from '../../http/values.ts';
import { fallbackId, namesakeId, distinctId } from '../identity/ids.ts';
import { readStored } from './record-columns.ts';
import { bytesIn, TextCollector, textIn, type Texts } from './text-blobs.ts';
import type { NameAt } from '../merge/employer.ts';
import { jobChangeRecorder } from './record-job-change.ts';
import { mergePerson } from '../merge/merge-person.ts';
import type { MergedRecord, Provenance } from '../merge/merge.ts';
import { shownTime } from '../merge/observed-at.ts';
import { oncePerTransaction } from './once-per-transaction.ts';
import { addressesOf, isRoleAddress, otherAddressesOf } from '../identity/other-addresses.ts';
import { otherNumbersOf } from '../identity/other-numbers.ts';
import { PersonRows, type NewRow, type RawPersonRow } from './person-rows.ts';
import type { Collected } from './normalised.ts';
import {
  newFieldSources,
  newPersonColumns,
  personColumns,
  normalisePerson,
  sortKeysOf,
  termsOf,
  type NormalisedPerson,
} from './normalised-person.ts';
import type { NormalisedCompany } from './normalised-company.ts';
import { MAX_RECORD_CHARS, TOO_LARGE, type UpsertResult, type Rejected } from './upsert-result.ts';
import { anySuppression, suppressionTest, tracesOfId, keyWithNameWords, type Traces } from '../identity/suppressions.ts';
import type { Store } from '../store.ts';

/** `verdictMs`: the time of the address's status, if it differs from the report's; epoch milliseconds. */
type UpsertPerson = (raw: SparseRecord, from: Provenance, verdictMs?: number | null) => UpsertResult;
/**
 * @param collected the terms and texts of the batch that the person is part of
 * @param company the employer, if the report has it
 */
type UpsertPreparedPerson = (
  person: NormalisedPerson,
  source: number,
  collected: Collected,
  company?: NormalisedCompany | null,
) => UpsertResult;

const NO_KEYS: readonly string[] = [];
const SUPPRESSED: Rejected = { kind: 'rejected', code: 'suppressed', detail: 'this person asked to be removed' };

/** Upserts one report of a person; `company_domain` is the employer. Call it within a transaction that ends with a flush of `index`. */
export function personWriter(store: Store, index: IndexWriter): UpsertPerson {
  const upsert = normalisedPersonWriter(store, index);
  const [terms, texts] = [new TermCollector(), new TextCollector()];
  return (raw, { source, atMs }, verdictMs = null) => {
    const person = normalisePerson({ ...raw }, { atMs, verdictMs, isEmployerDerived: false }, { terms, texts });
    return 'code' in person ? { kind: 'rejected', ...person } : upsert(person, source, { terms: terms.take(), texts: texts.take() });
  };
}

/** Upserts one normalised person. Call it within a transaction that ends with a flush of `index`. */
export function normalisedPersonWriter(store: Store, index: IndexWriter): UpsertPreparedPerson {
  const rows = new PersonRows(store, index);
  const hasSuppressions = oncePerTransaction(index, anySuppression(store));
  const isSuppressed = suppressionTest(store, hasSuppressions);
  const collector = new TermCollector();
  const recordJobChange = jobChangeRecorder(store, index);
  const companyAt = store.prepare('SELECT doc FROM companies WHERE domain = ?');
  const nameAt: NameAt = (domain) => nameIn((companyAt.get(domain)?.['doc'] as string | undefined) ?? '{}');
  /** Null: the address or the id exists. @param isShared another row has the main address; null when it is not known */
  const add = (
    person: NormalisedPerson,
    id: string,
    source: number,
    { terms: table, texts }: Collected,
    isShared: boolean | null = null,
  ): UpsertResult | null => {
    const { domain, nameKey: name, rank, others, otherNumbers, dropped, atMs } = person;
    const sharesAddress = rows.isOfAnother(isShared === null ? others : addressesIn(person), person, null);
    const result: UpsertResult = { kind: 'put', change: 'new', dropped, ...(sharesAddress ? { sharesAddress } : {}) };
    if (isShared === true || id !== person.newId || person.verdictMs !== null || isSkipped(person)) {
      // The normalised values do not fit.
      const { record } = mergePerson(null, { ...recordOf(person, texts), id }, { source, atMs }, person);
      const { row, text, terms } = rowOf(record, isShared === true);
      if (text.length > MAX_RECORD_CHARS) return TOO_LARGE;
      const span = collector.add(terms);
      return rows.add(row, collector.take(), span) ? result : null;
    }
    if (person.isTooLarge) return TOO_LARGE;
    const row = {
      columns: newPersonColumns(person, source, texts),
      domain,
      keys: { id, name, rank, updatedMs: shownTime(atMs) },
      others,
      otherNumbers,
      otherKeys: NO_KEYS,
    };
    return rows.add(row, table, person) ? result : null;
  };
  // No row has the id here, but the id of an erased person must not be given again.
  const isIdAllowed = (id: string): boolean => !hasSuppressions() || !isSuppressed({ id, knownId: id });
  const addUnknown = (person: NormalisedPerson, source: number, collected: Collected, isShared: boolean): UpsertResult => {
    const first = isIdAllowed(person.newId) ? add(person, person.newId, source, collected, isShared) : null;
    if (first !== null) return first;
    const named = person.id === null || person.nameKey === '' ? null : namesakeId(person.id, person.nameKey);
    // An erased person had this id and name.
    if (named !== null && !isIdAllowed(named)) return SUPPRESSED;
    for (let id = named ?? distinctId(person); ; id = id === named ? distinctId(person) : fallbackId(id, person.id)) {
      const result = isIdAllowed(id) ? add(person, id, source, collected, isShared) : null;
      if (result !== null) return result;
    }
  };
  /** After a new person the next one is probably new too, so it is inserted without a lookup. */
  let expectsNew = true;
  /** After an unchanged person the next one is probably unchanged too, so one query checks that first. */
  let expectsUnchanged = true;
  return (person, source, collected, company = null) => {
    const { dropped, atMs } = person;
    const { texts } = collected;
    if (hasSuppressions() && isSuppressed(tracesOf(person))) return SUPPRESSED;
    const added =
      expectsNew && !person.isTooLarge && isIdAllowed(person.newId) && rows.mayBeNew(person)
        ? add(person, person.newId, source, collected)
        : null;
    if (added !== null) return added;
    if (!expectsNew && expectsUnchanged && rows.isUnchanged(person, bytesIn(texts, person)))
      return { kind: 'put', change: 'same', dropped };
    const { row: found, isShared } = rows.find(person);
    expectsNew = found === null;
    if (found === null) return addUnknown(person, source, collected, isShared);
    expectsUnchanged = isSame(found, person, texts);
    if (expectsUnchanged) return { kind: 'put', change: 'same', dropped };
    const stored = storedPerson(found);
    const nameNow: NameAt = (domain) => (company?.domain === domain ? nameIn(textIn(texts, company)) : null) ?? nameAt(domain);
    const { record, change } = mergePerson(stored, recordOf(person, texts), { source, atMs }, person, nameNow);
    // A status without an address may belong to any address of the person.
    const hasNoAddress = person.email === null && person.status !== null && record.doc['email'] !== undefined;
    const put: UpsertResult = { kind: 'put', change, dropped: hasNoAddress ? [...dropped, 'email_status'] : dropped };
    if (change === 'same') return put;
    const known = addressesOf(stored.doc);
    const gained = addressesIn(person).filter((address) => !known.includes(address));
    const sharesAddress = rows.isOfAnother(gained, { nameKey: found['name_key'] as string }, found['seq'] as number);
    const result: UpsertResult = sharesAddress ? { ...put, sharesAddress } : put;
    const email = textOrNull(record.doc['email']);
    const { row, text, terms } = rowOf(record, email !== found['email'] && rows.isShared(email, found['seq'] as number));
    if (text.length > MAX_RECORD_CHARS) return TOO_LARGE;
    const span = collector.add(terms);
    rows.replace(found, row, collector.take(), span);
    if (change === 'fields') recordJobChange(stored, record, nameNow);
    return result;
  };
}

/** The traces by which a report of an erased person is recognised. */
export function tracesOf({
  email,
  profile,
  id,
  others,
  mobiles,
  nameKey,
}: Pick<NormalisedPerson, 'email' | 'profile' | 'id' | 'others' | 'mobiles' | 'nameKey'>): Traces {
  const ofId = tracesOfId(id, nameKey);
  const ofFunction = email !== null && isRoleAddress(email) ? keyWithNameWords(email, nameKey) : [];
  return {
    ...ofId,
    emails: addressesIn({ email, others }),
    profile,
    mobiles,
    keyWords: [...(ofId.keyWords ?? []), ...ofFunction],
  };
}

function addressesIn({ email, others }: Pick<NormalisedPerson, 'email' | 'others'>): readonly string[] {
  return email === null ? others : [email, ...others];
}

/** The name in a company's stored text. */
function nameIn(company: string): string | null {
  return textOrNull((JSON.parse(company) as SparseRecord)['name']);
}

/** The row and the terms of a record. @param isShared another row has its main address */
function rowOf(record: MergedRecord, isShared: boolean): { row: NewRow; text: string; terms: readonly number[] } {
  const { company_domain: employer, ...doc } = record.doc;
  const text = JSON.stringify(doc);
  const row = {
    columns: personColumns(record, text, isShared),
    domain: textOrNull(employer),
    keys: sortKeysOf(record),
    others: isShared ? addressesOf(doc) : otherAddressesOf(doc),
    otherNumbers: otherNumbersOf(doc),
    otherKeys: record.mergeState?.keys ?? NO_KEYS,
  };
  return { row, text, terms: termsOf(doc, record.base.atMs) };
}

/** The stored person with the employer. */
export function storedPerson(row: RawPersonRow): MergedRecord {
  const domain = row['company_domain'];
  return readStored(row, domain === null ? {} : { company_domain: domain });
}

/** The report as a record with its employer. */
function recordOf(person: NormalisedPerson, texts: Texts): SparseRecord {
  const { domain } = person;
  const record = JSON.parse(textIn(texts, person)) as SparseRecord;
  return domain === null ? record : Object.assign(record, { company_domain: domain });
}

/** Whether the row holds exactly this report. */
function isSame(row: RawPersonRow, person: NormalisedPerson, texts: Texts): boolean {
  return (
    person.verdictMs === null &&
    row['observed_at'] === person.atMs &&
    row['company_domain'] === person.domain &&
    row['field_sources'] === newFieldSources(person) &&
    row['doc'] === textIn(texts, person)
  );
}
