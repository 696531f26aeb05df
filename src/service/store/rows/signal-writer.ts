/** Upserts signals: recognised by id, company and type, or by their content, and merged with the stored signal. */
import { normaliseDomain } from '../../../verification/domain.ts';
import { profileKey } from '../../../verification/profile-url.ts';
import { cleanRecord } from '../../records/clean-record.ts';
import { fullName } from '../../records/person-name.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { IMPORTED_SIGNAL, SIGNAL } from '../../records/signal-fields.ts';
import type { IndexWriter } from '../index/index-writer.ts';
import { SIGNAL_TYPES, signalType, type SignalType } from '../../records/signal-types.ts';
import { isObject } from '../../../util/is-object.ts';
import { isEmpty, textOrNull } from '../../http/values.ts';
import { ownerReader } from '../identity/domain-aliases.ts';
import { digest } from '../identity/ids.ts';
import { fieldSources, readStored, timeText } from './record-columns.ts';
import { merge, type MergedRecord } from '../merge/merge.ts';
import { oncePerTransaction } from './once-per-transaction.ts';
import { MAX_RECORD_CHARS, TOO_LARGE, type UpsertResult } from './upsert-result.ts';
import { personNamedIn, signalKeyWriter, type NamedPerson } from './signal-person.ts';
import { anySuppression, suppressionTest } from '../identity/suppressions.ts';
import type { Store } from '../store.ts';

type UpsertSignal = (raw: SparseRecord, nowMs: number) => UpsertResult;

/**
 * Upserts one report of a signal about the company of `company.domain` or `domain`. A known signal keeps its position in the stream.
 * Call it within a transaction that ends with a flush of `index`.
 */
export function signalWriter(store: Store, index: IndexWriter): UpsertSignal {
  const isSuppressed = suppressionTest(store, oncePerTransaction(index, anySuppression(store)));
  const find = signalFinder(store);
  const writeKeys = signalKeyWriter(store);
  const company = store.prepare('SELECT country, industry FROM companies WHERE domain = ?');
  const ownerOf = ownerReader(store);
  const put = store.prepare(
    `INSERT INTO signals (id, type, company_domain, country, industry, ${REPORTED_COLUMNS.join(', ')}) VALUES (?, ?, ?, ?, ?, ` +
      `${REPORTED_COLUMNS.map(() => '?').join(', ')}) ON CONFLICT (id) DO UPDATE SET ` +
      REPORTED_COLUMNS.map((name) => `${name} = excluded.${name}`).join(', '),
  );
  return (raw, nowMs) => {
    const type = typeof raw['type'] === 'string' ? signalType(raw['type'].trim().toLowerCase()) : null;
    if (type === null) return { kind: 'rejected', code: 'bad_type', detail: `a signal's type is one of ${SIGNAL_TYPES.join(', ')}` };
    const about = isObject(raw['company']) ? raw['company'] : {};
    const domain = normaliseDomain(textOrNull(about['domain']) ?? textOrNull(raw['domain']) ?? textOrNull(raw['company_domain']) ?? '');
    if (domain === null) return { kind: 'rejected', code: 'no_identity', detail: 'a signal needs the domain of its company' };
    const { record, companyName, dropped } = cleanSignal(type, raw);
    if (record['occurred_at'] === undefined)
      return {
        kind: 'rejected',
        code: 'bad_time',
        detail: 'a signal needs to say when it occurred, as 2026-01-31 or 2026-01-31T12:00:00Z',
      };
    const named = personNamedIn(raw);
    if (isSuppressed(named.traces))
      return { kind: 'rejected', code: 'suppressed', detail: 'somebody who is named in this signal asked to be removed' };
    const given =
      typeof record['id'] === 'string' && record['id'].length <= 128
        ? record['id']
        : `sg_${digest(identityOf(type, domain, record, named))}`;
    const { id, stored } = find(given, type, domain);
    const report: Record<string, unknown> = {
      ...record,
      ...(companyName === undefined ? {} : { company: { domain, name: companyName } }),
      id,
    };
    // A report without `detected_at` may correct the stored signal, so it counts as at least as new.
    const saidMs = Date.parse((record['detected_at'] ?? record['occurred_at']) as string);
    const atMs = Math.min(record['detected_at'] === undefined ? Math.max(saidMs, stored?.base.atMs ?? saidMs) : saidMs, nowMs);
    // Without a reported `detected_at`, the time of arrival stands in until a report has one.
    const known: MergedRecord = stored ?? {
      doc: { detected_at: timeText(nowMs) },
      base: { source: 0, atMs },
      others: { detected_at: [0, 0] },
    };
    const { record: merged, change } = merge(known, report, { source: 0, atMs });
    if (change !== 'same') {
      const { company: shown = { domain }, ...doc } = merged.doc;
      const json = JSON.stringify({ ...doc, type, company: shown });
      if (json.length > MAX_RECORD_CHARS) return TOO_LARGE;
      const at = company.get(ownerOf(domain) ?? domain);
      const person = (doc['person'] ?? {}) as SparseRecord;
      put.run(
        id,
        type,
        domain,
        (at?.['country'] as string | undefined) ?? null,
        (at?.['industry'] as string | undefined) ?? null,
        Date.parse(doc['occurred_at'] as string),
        textOrNull(person['id']),
        profileKey(textOrNull(person['linkedin_url']) ?? ''),
        json,
        merged.base.atMs,
        fieldSources(merged),
      );
      if (change !== 'times') index.company(domain);
    }
    // A repeated report may name further addresses.
    writeKeys(id, named);
    return { kind: 'put', change: stored === null ? 'new' : change, dropped };
  };
}

/** The cleaned report, and the company's name. */
function cleanSignal(
  type: SignalType,
  raw: SparseRecord,
): { record: Record<string, unknown>; companyName: unknown; dropped: readonly string[] } {
  const { type: _type, domain: _domain, company_domain: _companyDomain, company, person, ...told } = raw;
  const { record, dropped } = cleanRecord({ ...told, person: isObject(person) ? withFullName(person) : person }, IMPORTED_SIGNAL[type]);
  if (!isObject(company)) return { record, companyName: undefined, dropped };
  const about = cleanRecord(company, SIGNAL.company.fields);
  return { record, companyName: about.record['name'], dropped: [...dropped, ...about.dropped.map((path) => `company.${path}`)] };
}

/** A person whose name is built from its parts if there is no full name. */
function withFullName(person: SparseRecord): SparseRecord {
  if (!isEmpty(person['name'])) return person;
  const { first_name: _first, last_name: _last, ...rest } = person;
  return { ...rest, name: fullName(person) };
}

/** The content that identifies a signal without an id. */
function identityOf(
  type: SignalType,
  domain: string,
  { occurred_at: occurredAt, subtype = null, data = null }: SparseRecord,
  { email, profile }: NamedPerson,
): string {
  // Nulls do not count, because older reports lack fields that were declared later.
  return JSON.stringify([type, domain, occurredAt, subtype, sparse(data), email, profile]);
}

function sparse(data: unknown): unknown {
  return data === null ? null : JSON.parse(JSON.stringify(data, (_, value: unknown) => value ?? undefined));
}

/** The columns that a report may change; the others identify the signal, or come from the company. */
const REPORTED_COLUMNS = ['occurred_at', 'person_id', 'person_profile', 'doc', 'observed_at', 'field_sources'] as const;

/**
 * The id of a signal, and its stored record, or null for a new signal. If the reported id belongs to a signal of another company or type,
 * the signal has an id of its own.
 */
function signalFinder(store: Store): (given: string, type: SignalType, domain: string) => { id: string; stored: MergedRecord | null } {
  const find = store.prepare('SELECT type, company_domain, doc, 0 AS source, observed_at, field_sources FROM signals WHERE id = ?');
  return (given, type, domain) => {
    // Checked even if the id is free, because the other signal may have been erased.
    for (let id = given, free: string | null = null; ; id = `sg_${digest(JSON.stringify([id, type, domain]))}`) {
      const row = find.get(id);
      if (row === undefined) {
        if (id !== given) return { id: free ?? id, stored: null };
        free = id;
      } else if (row['type'] === type && row['company_domain'] === domain) return { id, stored: storedSignal(row) };
    }
  };
}

/** The stored record, without the identifying fields. */
function storedSignal(row: Readonly<Record<string, unknown>>): MergedRecord {
  const {
    doc: { type: _type, company, ...doc },
    base,
    others,
  } = readStored(row);
  return { doc: isObject(company) && !isEmpty(company['name']) ? { ...doc, company } : doc, base, others };
}
