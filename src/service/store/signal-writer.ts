/** Buying signals into the store: recognised by their id, or by what they say. */
import { normaliseDomain } from '../../verification/domain.ts';
import { cleanRecord, withParts } from '../clean-record.ts';
import type { FieldType } from '../field-types.ts';
import { profileKey } from '../../verification/profile-url.ts';
import type { SparseRecord } from '../records.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { SIGNAL_DATA } from '../part-types.ts';
import { SIGNAL_TYPES, signalType, type SignalType } from '../signal-types.ts';
import { isEmpty, isObject, textOrNull } from '../values.ts';
import { ownerReader } from './domain-aliases.ts';
import { digest } from './ids.ts';
import { timeText } from './kept-columns.ts';
import { MAX_DOC, TOO_LARGE, type Put } from './put.ts';
import { namedBy, type NamedPerson } from './signal-person.ts';
import { suppressionTest } from './suppressions.ts';
import type { Store } from './store.ts';

export type PutSignal = (raw: SparseRecord, nowMs: number) => Put;

export const SIGNAL_FIELD_TYPES: Readonly<Record<string, FieldType>> = {
  id: 'string', subtype: 'string', occurred_at: 'time', detected_at: 'time', confidence: 'number', source_url: 'string', person: 'object', data: 'object',
};

/** Puts one signal; within a transaction, at whose end `index` is flushed. It is about the company of `company.domain` or `domain`. One that is there already is replaced, and keeps its place in the stream. */
export function signalWriter(store: Store, index: IndexWriter): PutSignal {
  const isSuppressed = suppressionTest(store);
  const find = store.prepare('SELECT doc, company_domain FROM signals WHERE id = ?');
  const company = store.prepare('SELECT country, industry FROM companies WHERE domain = ?');
  const ownerOf = ownerReader(store);
  const put = store.prepare(
    'INSERT INTO signals (id, type, occurred_at, company_domain, country, industry, person_id, person_email, person_profile, doc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET type = excluded.type, ' +
      'occurred_at = excluded.occurred_at, company_domain = excluded.company_domain, country = excluded.country, industry = excluded.industry, person_id = excluded.person_id, person_email = excluded.person_email, person_profile = excluded.person_profile, doc = excluded.doc',
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
    const personId = textOrNull(person?.['id']);
    const { email, addresses, mobiles } = person === null ? NOBODY : namedBy(person);
    const profile = person === null ? null : profileKey(textOrNull(person['linkedin_url']) ?? '');
    if (isSuppressed({ emails: addresses, profile, mobiles, id: personId })) return { kind: 'rejected', code: 'suppressed', detail: 'the person of this signal asked to be removed' };
    const named = isEmpty(about['name']) ? {} : { name: about['name'] };
    const { type: _type, company: _company, ...others } = record;
    // Last, wherever a row has them: a signal is known again by its text.
    const doc = { ...others, type, company: { domain, ...named } };
    const id = typeof record['id'] === 'string' && record['id'].length <= 128 ? record['id'] : `sg_${digest(JSON.stringify([type, domain, record['occurred_at'], record['subtype'] ?? null, record['data'] ?? null, email, profile]))}`;
    const before = find.get(id);
    // Whoever told of it did not always say when it was noticed; then that was when it came here.
    const noticed = record['detected_at'] ?? (before === undefined ? timeText(nowMs) : (JSON.parse(before['doc'] as string) as SparseRecord)['detected_at']);
    const json = JSON.stringify({ ...doc, ...wholeData(type, record['data']), id, detected_at: noticed });
    if (json.length > MAX_DOC) return TOO_LARGE;
    if (before?.['doc'] === json) return { kind: 'put', change: 'same', dropped };
    const at = company.get(ownerOf(domain) ?? domain);
    put.run(id, type, Date.parse(record['occurred_at'] as string), domain, (at?.['country'] as string | undefined) ?? null, (at?.['industry'] as string | undefined) ?? null, personId, addresses[0] ?? null, profile, json);
    index.company(domain);
    // One that has moved is no longer the other company's.
    if (before !== undefined && before['company_domain'] !== domain) index.company(before['company_domain'] as string);
    return { kind: 'put', change: before === undefined ? 'new' : 'fields', dropped };
  };
}

const NOBODY: NamedPerson = { email: null, addresses: [], mobiles: [] };

/** What a signal tells, with null for what it does not. Signals are recognised by what they tell, so this comes after that. */
export function wholeData(type: SignalType, data: unknown): { readonly data?: SparseRecord } {
  return isObject(data) ? { data: withParts(data, SIGNAL_DATA[type]) } : {};
}
