/** Buying signals into the store: recognised by their id, company and type, or by what they say, and merged with what is known of them. */
import { normaliseDomain } from '../../verification/domain.ts';
import { profileKey } from '../../verification/profile-url.ts';
import { cleanRecord } from '../clean-record.ts';
import { nameOf } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import { IMPORTED_SIGNAL, SIGNAL } from '../records/signal.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { SIGNAL_TYPES, signalType, type SignalType } from '../signal-types.ts';
import { isEmpty, isObject, textOrNull } from '../values.ts';
import { ownerReader } from './domain-aliases.ts';
import { digest } from './ids.ts';
import { fieldSources, readKept, timeText } from './kept-columns.ts';
import { merge, type KeptRecord } from './merge.ts';
import { onceATransaction } from './once.ts';
import { MAX_DOC, TOO_LARGE, type Put } from './put.ts';
import { namedIn, signalKeyWriter, type NamedPerson } from './signal-person.ts';
import { anySuppression, suppressionTest } from './suppressions.ts';
import type { Store } from './store.ts';

export type PutSignal = (raw: SparseRecord, nowMs: number) => Put;

/** Puts one signal; within a transaction, at whose end `index` is flushed. It is about the company of `company.domain` or `domain`. One that is there already takes what is known better, and keeps its place in the stream. */
export function signalWriter(store: Store, index: IndexWriter): PutSignal {
  const isSuppressed = suppressionTest(store, onceATransaction(index, anySuppression(store)));
  const find = signalFinder(store);
  const keepKeys = signalKeyWriter(store);
  const company = store.prepare('SELECT country, industry FROM companies WHERE domain = ?');
  const ownerOf = ownerReader(store);
  const put = store.prepare(
    `INSERT INTO signals (id, type, company_domain, country, industry, ${REPORTED_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ${REPORTED_COLUMNS.map(() => '?').join(', ')}) ON CONFLICT (id) DO UPDATE SET ${REPORTED_COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}`,
  );
  return (raw, nowMs) => {
    const type = typeof raw['type'] === 'string' ? signalType(raw['type'].trim().toLowerCase()) : null;
    if (type === null) return { kind: 'rejected', code: 'bad_type', detail: `a signal's type is one of ${SIGNAL_TYPES.join(', ')}` };
    const about = isObject(raw['company']) ? raw['company'] : {};
    const domain = normaliseDomain(textOrNull(about['domain']) ?? textOrNull(raw['domain']) ?? textOrNull(raw['company_domain']) ?? '');
    if (domain === null) return { kind: 'rejected', code: 'no_identity', detail: 'a signal needs the domain of its company' };
    const { record, companyName, dropped } = cleanSignal(type, raw);
    if (record['occurred_at'] === undefined) return { kind: 'rejected', code: 'bad_time', detail: 'a signal needs to say when it occurred, as 2026-01-31 or 2026-01-31T12:00:00Z' };
    const named = namedIn(raw);
    if (isSuppressed(named.traces)) return { kind: 'rejected', code: 'suppressed', detail: 'somebody who is named in this signal asked to be removed' };
    const given = typeof record['id'] === 'string' && record['id'].length <= 128 ? record['id'] : `sg_${digest(identityOf(type, domain, record, named))}`;
    const { id, kept } = find(given, type, domain);
    const report: Record<string, unknown> = { ...record, ...(companyName === undefined ? {} : { company: { domain, name: companyName } }), id };
    // Who does not say when it was noticed may well correct what is known.
    const saidMs = Date.parse((record['detected_at'] ?? record['occurred_at']) as string);
    const atMs = Math.min(record['detected_at'] === undefined ? Math.max(saidMs, kept?.base.atMs ?? saidMs) : saidMs, nowMs);
    // Whoever told of it did not always say when it was noticed; then that was when it came here, until somebody says it.
    const known: KeptRecord = kept ?? { doc: { detected_at: timeText(nowMs) }, base: { source: 0, atMs }, others: { detected_at: [0, 0] } };
    const { record: merged, change } = merge(known, report, { source: 0, atMs });
    if (change !== 'same') {
      const { company: shown = { domain }, ...doc } = merged.doc;
      const json = JSON.stringify({ ...doc, type, company: shown });
      if (json.length > MAX_DOC) return TOO_LARGE;
      const at = company.get(ownerOf(domain) ?? domain);
      const person = (doc['person'] ?? {}) as SparseRecord;
      put.run(
        id, type, domain, (at?.['country'] as string | undefined) ?? null, (at?.['industry'] as string | undefined) ?? null,
        Date.parse(doc['occurred_at'] as string), textOrNull(person['id']), profileKey(textOrNull(person['linkedin_url']) ?? ''), json, merged.base.atMs, fieldSources(merged),
      );
      if (change !== 'times') index.company(domain);
    }
    // Also where nothing else is new.
    keepKeys(id, named);
    return { kind: 'put', change: kept === null ? 'new' : change, dropped };
  };
}

/** What of a report is kept, and what its company is called. */
function cleanSignal(type: SignalType, raw: SparseRecord): { record: Record<string, unknown>; companyName: unknown; dropped: readonly string[] } {
  const { type: _type, domain: _domain, company_domain: _companyDomain, company, person, ...told } = raw;
  const { record, dropped } = cleanRecord({ ...told, person: isObject(person) ? withNameAlone(person) : person }, IMPORTED_SIGNAL[type]);
  if (!isObject(company)) return { record, companyName: undefined, dropped };
  const about = cleanRecord(company, SIGNAL.company.fields);
  return { record, companyName: about.record['name'], dropped: [...dropped, ...about.dropped.map((path) => `company.${path}`)] };
}

/** A person with the name that its parts make, where it has no other. */
function withNameAlone(person: SparseRecord): SparseRecord {
  if (!isEmpty(person['name'])) return person;
  const { first_name: _first, last_name: _last, ...rest } = person;
  return { ...rest, name: nameOf(person) };
}

/** What a signal without an id is recognised by: what it tells, and of whom. */
function identityOf(type: SignalType, domain: string, { occurred_at: occurredAt, subtype = null, data = null }: SparseRecord, { email, profile }: NamedPerson): string {
  // A field that is declared later is null in what was told before.
  return JSON.stringify([type, domain, occurredAt, subtype, sparse(data), email, profile]);
}

function sparse(data: unknown): unknown {
  return data === null ? null : JSON.parse(JSON.stringify(data, (_, value: unknown) => value ?? undefined));
}

/** What a report may change; the others say which signal it is, and what is known of the company. */
const REPORTED_COLUMNS = ['occurred_at', 'person_id', 'person_profile', 'doc', 'observed_at', 'field_sources'] as const;

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
