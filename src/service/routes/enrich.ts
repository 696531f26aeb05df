/** POST /v1/enrich: an e-mail address or a domain in, the whole record out. */
import { normaliseEmail } from '../../verification/address.ts';
import { normaliseDomain } from '../../verification/domain.ts';
import type { Answer, Endpoint } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { fillPerson, RECORD_FIELDS, recordText, type Match } from '../records.ts';
import type { Directory, PersonRow } from '../store/directory.ts';
import { BodyReader } from '../validate.ts';

const LOOKUPS = ['email', 'domain', 'id'] as const;
/** In the definitions, and not looked up by this service. */
const OTHER_LOOKUPS = ['linkedin_url', 'phone', 'name'] as const;
const FIELDS = [...LOOKUPS, ...OTHER_LOOKUPS, 'min_likelihood', 'required', 'fields', 'verify', 'webhook_url'];
const TAKEN = `one of ${LOOKUPS.join(', ')}`;

/** An address may have passed on to somebody else; an id never does. */
const LIKELIHOOD = { email: 98, id: 100 } as const;
/** A hit costs this, a miss nothing. */
const HIT_CREDITS = 1;

interface Options {
  readonly minLikelihood: number;
  readonly required: readonly string[];
  readonly fields: readonly string[] | null;
}

type Lookup = { readonly by: (typeof LOOKUPS)[number]; readonly value: string };

export function enrichEndpoint(directory: Directory): Endpoint {
  return (body) => {
    const { lookup, options } = readRequest(body);
    switch (lookup.by) {
      case 'domain': {
        const company = directory.companyByDomain(lookup.value);
        if (company === null) throw noMatch('no company is known by this domain');
        return answer(null, company, { matchedOn: ['domain'], likelihood: null }, options);
      }
      case 'email': {
        const found = directory.personByEmail(lookup.value);
        // Whoever is suppressed was erased and is never loaded again, so only a miss needs the question.
        if (found === null && directory.isSuppressed(lookup.value)) throw new ServiceError('suppressed_person', 'this person asked to be removed; nothing is kept about them');
        return answerPerson(directory, found, lookup.by, options);
      }
      case 'id':
        return answerPerson(directory, directory.personById(lookup.value), lookup.by, options);
      default:
        return lookup.by satisfies never;
    }
  };
}

function readRequest(body: unknown): { lookup: Lookup; options: Options } {
  const reader = new BodyReader(body, FIELDS);
  const given = LOOKUPS.filter((field) => reader.has(field));
  for (const field of OTHER_LOOKUPS) {
    if (reader.has(field)) reader.fail(`/${field}`, 'unsupported_lookup', `this service does not look people up by ${field}; it takes ${TAKEN}`);
  }
  if (reader.has('webhook_url')) reader.fail('/webhook_url', 'unsupported_option', 'this service answers at once and calls no webhook');
  const [by] = given;
  let lookup: Lookup | null = null;
  if (by === undefined) reader.fail('', 'required', `nothing to look up: give ${TAKEN}`);
  else if (given.length > 1) reader.fail(`/${given[1]}`, 'ambiguous', `give only ${TAKEN}, not ${given.join(' and ')}`);
  else lookup = readLookup(reader, by);
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

function readLookup(reader: BodyReader, by: Lookup['by']): Lookup | null {
  const value = reader.string(by);
  if (value === null) return null;
  const normalised = by === 'email' ? normaliseEmail(value) : by === 'domain' ? normaliseDomain(value) : value;
  if (normalised !== null) return { by, value: normalised };
  if (by === 'email') reader.fail('/email', 'invalid_email', 'email is no e-mail address');
  else reader.fail('/domain', 'invalid_domain', 'domain is no domain name, such as acme.example');
  return null;
}

function answerPerson(directory: Directory, row: PersonRow | null, by: 'email' | 'id', options: Options): Answer {
  if (row === null) throw noMatch(by === 'email' ? 'no person is known by this e-mail address' : 'no person has this id');
  const company = row.companyDomain === null ? null : directory.companyByDomain(row.companyDomain);
  return answer(row, company, { matchedOn: [by], likelihood: LIKELIHOOD[by] }, options);
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
