/** Buying signals into the store: recognised by their id, company and type, or by what they say, and merged with what is known of them. */
import { normaliseDomain } from '../../verification/domain.ts';
import { cleanRecord, saysNothing, withParts } from '../clean-record.ts';
import type { FieldType } from '../field-types.ts';
import { profileKey } from '../../verification/profile-url.ts';
import { fold } from '../fold.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { SIGNAL_DATA } from '../part-types.ts';
import { SIGNAL_TYPES, signalType, type SignalType } from '../signal-types.ts';
import { isEmpty, isObject, textOrNull } from '../values.ts';
import { ownerReader } from './domain-aliases.ts';
import { addressesIn } from './addresses-in.ts';
import { digest } from './ids.ts';
import { fieldSources, readKept, timeText } from './kept-columns.ts';
import { merge, type KeptRecord } from './merge.ts';
import { onceATransaction } from './once.ts';
import { MAX_DOC, TOO_LARGE, type Put } from './put.ts';
import { namedBy, type NamedPerson } from './signal-person.ts';
import { anySuppression, suppressionTest, tracesOfId, type Traces } from './suppressions.ts';
import type { Store } from './store.ts';

export type PutSignal = (raw: SparseRecord, nowMs: number) => Put;

export const SIGNAL_FIELD_TYPES: Readonly<Record<string, FieldType>> = {
  id: 'string', subtype: 'string', occurred_at: 'time', detected_at: 'time', confidence: 'number', source_url: 'string', person: 'object', data: 'object',
};

/** Puts one signal; within a transaction, at whose end `index` is flushed. It is about the company of `company.domain` or `domain`. One that is there already takes what is known better, and keeps its place in the stream. */
export function signalWriter(store: Store, index: IndexWriter): PutSignal {
  const isAnybody = onceATransaction(index, anySuppression(store));
  const isSuppressed = suppressionTest(store, isAnybody);
  const find = signalFinder(store);
  const company = store.prepare('SELECT country, industry FROM companies WHERE domain = ?');
  const ownerOf = ownerReader(store);
  const put = store.prepare(
    `INSERT INTO signals (id, type, company_domain, country, industry, ${REPORTED_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ${REPORTED_COLUMNS.map(() => '?').join(', ')}) ON CONFLICT (id) DO UPDATE SET ${REPORTED_COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  );
  return (raw, nowMs) => {
    const { record, dropped } = cleanRecord(raw, SIGNAL_FIELD_TYPES);
    const type = typeof raw['type'] === 'string' ? signalType(raw['type'].trim().toLowerCase()) : null;
    if (type === null) return { kind: 'rejected', code: 'bad_type', detail: `a signal's type is one of ${SIGNAL_TYPES.join(', ')}` };
    const about = isObject(raw['company']) ? raw['company'] : {};
    const domain = normaliseDomain(textOrNull(about['domain']) ?? textOrNull(raw['domain']) ?? textOrNull(raw['company_domain']) ?? '');
    if (domain === null) return { kind: 'rejected', code: 'no_identity', detail: 'a signal needs the domain of its company' };
    if (record['occurred_at'] === undefined) return { kind: 'rejected', code: 'bad_time', detail: 'a signal needs to say when it occurred, as 2026-01-31 or 2026-01-31T12:00:00Z' };
    const person = (record['person'] ?? null) as SparseRecord | null;
    const { email, profile } = whomOf(person);
    if (isSuppressed(tracesOfSignal(person))) return { kind: 'rejected', code: 'suppressed', detail: 'the person of this signal asked to be removed' };
    const given = typeof record['id'] === 'string' && record['id'].length <= 128 ? record['id'] : `sg_${digest(JSON.stringify([type, domain, record['occurred_at'], record['subtype'] ?? null, record['data'] ?? null, email, profile]))}`;
    const { id, kept } = find(given, type, domain);
    const { type: _type, company: _company, data, ...others } = record;
    const report: Record<string, unknown> = { ...others, ...(isEmpty(about['name']) ? {} : { company: { domain, name: about['name'] } }), ...(saysNothing(data) ? {} : wholeData(type, data)), id };
    // Who does not say when it was noticed may well correct what is known.
    const saidMs = Date.parse((record['detected_at'] ?? record['occurred_at']) as string);
    const atMs = Math.min(record['detected_at'] === undefined ? Math.max(saidMs, kept?.base.atMs ?? saidMs) : saidMs, nowMs);
    // Whoever told of it did not always say when it was noticed; then that was when it came here, until somebody says it.
    const known: KeptRecord = kept ?? { doc: { detected_at: timeText(nowMs) }, base: { source: 0, atMs }, others: { detected_at: [0, 0] } };
    const { record: merged, change } = merge(known, report, { source: 0, atMs });
    if (change === 'same') return { kind: 'put', change, dropped };
    const { company: named = { domain }, ...doc } = merged.doc;
    const json = JSON.stringify({ ...doc, type, company: named });
    if (json.length > MAX_DOC) return TOO_LARGE;
    if (isAnybody() && isSuppressed({ emails: addressesIn(json) })) return { kind: 'rejected', code: 'suppressed', detail: 'somebody who is named in this signal asked to be removed' };
    const at = company.get(ownerOf(domain) ?? domain);
    const whom = whomOf((merged.doc['person'] ?? null) as SparseRecord | null);
    put.run(
      id, type, domain, (at?.['country'] as string | undefined) ?? null, (at?.['industry'] as string | undefined) ?? null,
      Date.parse(merged.doc['occurred_at'] as string), whom.personId, whom.addresses[0] ?? null, whom.profile, json, merged.base.atMs, fieldSources(merged),
    );
    if (change !== 'times') index.company(domain);
    return { kind: 'put', change: kept === null ? 'new' : change, dropped };
  };
}

/** What a report may change; the others say which signal it is, and what is known of the company. */
const REPORTED_COLUMNS = ['occurred_at', 'person_id', 'person_email', 'person_profile', 'doc', 'observed_at', 'field_sources'] as const;

/** By which id a signal is kept, and what is kept of it; null: it is new. An id that another company's has, or one of another type, is given by somebody else: then it has one of its own. */
function signalFinder(store: Store): (given: string, type: SignalType, domain: string) => { id: string; kept: KeptRecord | null } {
  const find = store.prepare('SELECT type, company_domain, doc, 0 AS source, observed_at, field_sources FROM signals WHERE id = ?');
  return (given, type, domain) => {
    // Also where it is free: the other one may have been erased since.
    for (let id = given, free: string | null = null; ; id = `sg_${digest(JSON.stringify([id, type, domain]))}`) {
      const row = find.get(id);
      if (row === undefined) {
        if (id !== given) return { id: free ?? id, kept: null };
        free = id;
      } else if (row['type'] === type && row['company_domain'] === domain) return { id, kept: keptSignal(row) };
    }
  };
}

/** What is known of a signal besides which it is. */
function keptSignal(row: Readonly<Record<string, unknown>>): KeptRecord {
  const { doc: { type: _type, company, ...doc }, base, others } = readKept(row);
  const atMs = row['observed_at'] === null ? Date.parse((doc['detected_at'] ?? doc['occurred_at']) as string) : base.atMs;
  return { doc: isObject(company) && !isEmpty(company['name']) ? { ...doc, company } : doc, base: { ...base, atMs }, others };
}

/** By what a signal names whom it is about. */
function whomOf(person: SparseRecord | null): NamedPerson & { readonly personId: string | null; readonly profile: string | null } {
  if (person === null) return { ...NOBODY, personId: null, profile: null };
  return { ...namedBy(person), personId: textOrNull(person['id']), profile: profileKey(textOrNull(person['linkedin_url']) ?? '') };
}

/** By what whomever a signal is about is recognised who was erased. @param person null: it is about nobody in particular */
export function tracesOfSignal(person: SparseRecord | null): Traces {
  const { personId, addresses, mobiles, profile } = whomOf(person);
  return { ...tracesOfId(personId, fold(nameOf(person ?? {}) ?? '')), emails: addresses, profile, mobiles };
}

const NOBODY: NamedPerson = { email: null, addresses: [], mobiles: [] };

/** What a signal tells, with null for what it does not. Signals are recognised by what they tell, so this comes after that. */
export function wholeData(type: SignalType, data: unknown): { readonly data?: SparseRecord } {
  return isObject(data) ? { data: withParts(data, SIGNAL_DATA[type]) } : {};
}
