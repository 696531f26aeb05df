/** The answers of /v1/enrich, /v1/contacts/reveal and /v1/companies: a record, or one that says nothing. Pure. */
import { withBodyId } from './answer.ts';
import { COMPANY_FIELDS, PERSON_FIELDS } from './answer-fields.ts';
import { badBody } from './classify.ts';
import { oneLine } from './problem.ts';
import type { Answer } from './answer.ts';
import { hasValue } from '../util/has-value.ts';
import { isObject } from '../util/is-object.ts';
import type { CallResult, CompanyRecord, ContactRecord, PersonRecord } from './types.ts';

export interface RecordAnswer<T> {
  readonly record: T;
  /** The record's JSON as it was sent, trimmed; without a line break, so that it fits a JSONL line. */
  readonly text: string;
  /** The answer from which `readStored` maps the record again: the ledger keeps it in place of `text`. Absent: `text` itself. */
  readonly stored?: string;
}

export type EnrichAnswer = RecordAnswer<PersonRecord>;
export type RevealAnswer = RecordAnswer<ContactRecord>;
export type CompanyAnswer = RecordAnswer<CompanyRecord>;

/** Fields that a service may send for an unknown person: the looked-up key, and its opinion about the address or its own answer. */
const NOT_OF_A_PERSON = [
  'id',
  'email',
  'email_status',
  'email_type',
  'email_confidence',
  'email_verified_at',
  'emails',
  'likelihood',
  'matched_on',
  'sources_count',
  'first_seen_at',
  'updated_at',
  'verified',
  'company',
];
const NOT_OF_A_COMPANY = ['id', 'domain', 'domain_aliases', 'email_provider', 'email_pattern', 'accepts_all', 'updated_at'];
/** Fields that an error, too, may have. */
const OF_ANYTHING = ['id', 'type', 'description', 'updated_at'];

const ENRICHED = [...PERSON_FIELDS.keys()].filter((field) => !NOT_OF_A_PERSON.includes(field));
/** A contact was looked up by its profile, so that an address tells something. */
const REVEALED = [...ENRICHED.filter((field) => field !== 'linkedin_url'), 'email', 'emails'];
const COMPANY = [...COMPANY_FIELDS.keys()].filter((field) => ![...NOT_OF_A_COMPANY, ...OF_ANYTHING].includes(field));
/** A record has one of these fields, with a value or without. */
const NAMES: ReadonlySet<string> = new Set(
  [...PERSON_FIELDS.keys(), ...COMPANY_FIELDS.keys()].filter((field) => !OF_ANYTHING.includes(field)),
);

/** Under these a service may wrap its record. */
const WRAPPERS = ['data', 'person', 'record'];
/** Names of an answer's fields that a message shows. */
const SHOWN_FIELDS = 5;

/** Reads a 200 of enrich: the bare record; a miss for null, {} or a record whose fields are empty; else unreadable, or of another shape. */
export function readPerson(answer: Answer): CallResult<EnrichAnswer> {
  return readRecord(answer, (record) => saysSomething(record, ENRICHED) || namesCompany(record));
}

/** The same of reveal. */
export function readContact(answer: Answer): CallResult<RevealAnswer> {
  return readRecord(answer, (record) => saysSomething(record, REVEALED) || namesCompany(record));
}

/** The same of a company. */
export function readCompany(answer: Answer): CallResult<CompanyAnswer> {
  return readRecord(answer, (record) => saysSomething(record, COMPANY));
}

function readRecord<T extends PersonRecord | ContactRecord | CompanyRecord>(
  answer: Answer,
  isHit: (record: T) => boolean,
): CallResult<RecordAnswer<T>> {
  const text = answer.text.trim();
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return badBody(answer, text === '' ? 'the answer is empty' : 'the answer is not JSON');
  }
  if (json !== null && !isObject(json)) return badBody(answer, 'the answer is JSON, but no record');
  const meta = withBodyId(answer.meta, json);
  if (json === null || Object.keys(json).length === 0) return { kind: 'miss', meta };
  const record = recordIn(json, isHit);
  if (record === undefined) return badBody({ ...answer, meta }, `the answer has no field of a record, but ${namesOf(json)}`, 'bad_shape');
  if (record === null || !isHit(record)) return { kind: 'miss', meta };
  const line = record !== json || text.includes('\n') || text.includes('\r') ? onOneLine(record) : text;
  return line === null ? badBody(answer, 'the record is nested too deeply') : { kind: 'ok', value: { record, text: line }, meta };
}

/** The record of an answer, bare or wrapped; null for a wrapper alone around nothing; undefined for an answer of another shape. */
function recordIn<T extends PersonRecord | ContactRecord | CompanyRecord>(
  json: Readonly<Record<string, unknown>>,
  isHit: (record: T) => boolean,
): T | null | undefined {
  for (const name in json) if (NAMES.has(name)) return json as T;
  const isAlone = Object.keys(json).length === 1;
  for (const name of WRAPPERS) {
    const inner = json[name];
    if (isAlone && (inner === null || (isObject(inner) && Object.keys(inner).length === 0))) return null;
    if (isObject(inner) && (isAlone ? Object.keys(inner).some((field) => NAMES.has(field)) : isHit(inner as T))) return inner as T;
  }
  return undefined;
}

function namesOf(json: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(json);
  return oneLine(names.slice(0, SHOWN_FIELDS).join(', ') + (names.length > SHOWN_FIELDS ? ', ...' : ''));
}

/** Nearly every record has a name, so that is looked at first. */
function saysSomething(record: PersonRecord | ContactRecord | CompanyRecord, fields: readonly string[]): boolean {
  return hasValue(record.name) || fields.some((field) => hasValue(record[field]));
}

function namesCompany(record: PersonRecord | ContactRecord): boolean {
  return hasValue(record.company);
}

/** A raw line break in valid JSON stands between tokens, so serialising again changes no value. Null: beyond the stack. */
function onOneLine(record: unknown): string | null {
  try {
    return JSON.stringify(record);
  } catch {
    return null;
  }
}
