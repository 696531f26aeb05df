/** The answer of /v1/enrich: a record, or one that says nothing. Pure. */
import { withBodyId } from './answer.ts';
import { badBody } from './classify.ts';
import type { Answer } from './answer.ts';
import { isObject } from './problem.ts';
import type { CallResult, PersonRecord } from './types.ts';

export interface EnrichAnswer {
  readonly record: PersonRecord;
  /** The record's JSON as it was sent, trimmed; without a line break, so that it fits a JSONL line. */
  readonly text: string;
}

/**
 * The contract's fields that say something about a person. Left out is what a service may say of someone it does not
 * know: the key it was asked for, and what it thinks of the address or of its own answer.
 */
const PERSON_FIELDS: readonly string[] = [
  'name', 'first_name', 'middle_name', 'last_name', 'headline', 'title', 'seniority', 'department', 'sub_department', 'summary',
  'mobile', 'linkedin_url', 'linkedin_id', 'twitter_url', 'github_url', 'facebook_url', 'website_url', 'photo_url', 'time_zone',
  'tenure_months', 'years_experience', 'role_started_on', 'job_changed_at', 'name_aliases', 'personal_emails',
  'phones', 'skills', 'languages', 'certifications', 'education', 'employment_history', 'location',
];

/** Reads a 200: the bare record; a miss for null, {} or a record without any person or company field; else unreadable. */
export function readPerson(answer: Answer): CallResult<EnrichAnswer> {
  const text = answer.text.trim();
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    return badBody(answer, text === '' ? 'the answer is empty' : 'the answer is not JSON');
  }
  if (record !== null && !isObject(record)) return badBody(answer, 'the answer is JSON, but no record');
  const meta = withBodyId(answer.meta, record);
  if (record === null || !saysSomething(record)) return { kind: 'miss', meta };
  const line = text.includes('\n') || text.includes('\r') ? onOneLine(record) : text;
  return line === null
    ? badBody(answer, 'the record is nested too deeply')
    : { kind: 'ok', value: { record, text: line }, meta };
}

function saysSomething(record: PersonRecord): boolean {
  // Nearly every record has a name.
  if (hasValue(record.name) || PERSON_FIELDS.some((field) => hasValue(record[field]))) return true;
  const company: unknown = record.company;
  return isObject(company) ? Object.values(company).some(hasValue) : hasValue(company);
}

/** Null and what is empty say nothing. */
function hasValue(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return false;
  if (typeof value !== 'object') return true;
  return Array.isArray(value) ? value.length > 0 : Object.values(value).some((inner) => inner !== null);
}

/** A raw line break in valid JSON stands between tokens, so serialising again changes no value. Null: beyond the stack. */
function onOneLine(record: unknown): string | null {
  try {
    return JSON.stringify(record);
  } catch {
    return null;
  }
}
