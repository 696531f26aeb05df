/** POST /v1/enrich: what somebody is known by in, the whole record out. */
import type { Answer, Endpoint } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { findPerson, LOOKUP_FIELDS, readLookup, type Lookup } from '../lookup.ts';
import { fillPerson, RECORD_FIELDS, recordText, type Match } from '../records.ts';
import type { Directory, PersonRow } from '../store/directory.ts';
import { BodyReader } from '../validate.ts';

const LOOKUPS = LOOKUP_FIELDS.filter((field) => field !== 'company');
const FIELDS = [...LOOKUPS, 'min_likelihood', 'required', 'fields', 'verify', 'webhook_url'];

/** A hit costs this, a miss nothing. */
const HIT_CREDITS = 1;

interface Options {
  readonly minLikelihood: number;
  readonly required: readonly string[];
  readonly fields: readonly string[] | null;
}

export function enrichEndpoint(directory: Directory): Endpoint {
  return (body) => enrichOne(directory, body);
}

/** Enriches by one request's body. @throws ServiceError for every answer of 400 and above */
export function enrichOne(directory: Directory, body: unknown): Answer {
  const { lookup, options } = readRequest(body);
  if (lookup.by === 'domain') {
    const company = directory.companyByDomain(lookup.value);
    if (company === null) throw noMatch('no company is known by this domain');
    return answer(null, company, { matchedOn: ['domain'], likelihood: null }, options);
  }
  const { row, match } = findPerson(directory, lookup);
  return answer(row, directory.companyOf(row), match, options);
}

function readRequest(body: unknown): { lookup: Lookup; options: Options } {
  const reader = new BodyReader(body, FIELDS);
  if (reader.has('webhook_url')) reader.fail('/webhook_url', 'unsupported_option', 'this service answers at once and calls no webhook');
  const lookup = readLookup(reader, LOOKUPS, true);
  const options: Options = {
    minLikelihood: reader.integer('min_likelihood', 0, 100) ?? 0,
    required: reader.names('required', RECORD_FIELDS) ?? [],
    fields: reader.names('fields', RECORD_FIELDS),
  };
  // Asks for a fresh verdict on the address; the store's evidence is all there is, and the record carries it anyway.
  reader.boolean('verify');
  reader.finish();
  // `finish` has thrown unless there is one good lookup.
  return { lookup: lookup as Lookup, options };
}

function answer(row: PersonRow | null, company: string | null, match: Match, options: Options): Answer {
  if (match.likelihood !== null && match.likelihood < options.minLikelihood) throw noMatch(`the best match has a likelihood of ${match.likelihood}`);
  const person = fillPerson(row?.person ?? null, match);
  const missing = options.required.find((field) => (field === 'company' ? company === null : person[field] === null));
  if (missing !== undefined) throw noMatch(`what was found has no ${missing}, which is required`);
  return { status: 200, text: recordText(person, company, options.fields), credits: HIT_CREDITS, again: true };
}

function noMatch(detail: string): ServiceError {
  return new ServiceError('no_match', detail);
}
