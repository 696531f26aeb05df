/** One person, by whatever a request names them: for enrichment and for revealing. */
import { normaliseEmail } from '../verification/address.ts';
import { normaliseDomain } from '../verification/domain.ts';
import { ServiceError } from './errors.ts';
import { phoneOf } from './field-types.ts';
import { fold } from './fold.ts';
import { profileKey } from '../verification/profile-url.ts';
import type { Match } from './records.ts';
import type { Directory } from './store/directory.ts';
import type { PersonRow } from './store/person-row.ts';
import type { BodyReader } from './validate.ts';

/** Each of these names a person by itself. */
const ALONE = ['email', 'linkedin_url', 'phone', 'id'] as const;

export type Lookup =
  | { readonly by: (typeof ALONE)[number]; readonly value: string }
  | { readonly by: 'name'; readonly value: string; readonly where: { readonly domain: string } | { readonly company: string } }
  | { readonly by: 'domain'; readonly value: string };

/** Fields that a lookup may be made of. */
export const LOOKUP_FIELDS: readonly string[] = [...ALONE, 'name', 'domain', 'company'];

/** An address or a number may have passed on to somebody else, an id never does; a name is somebody else's too. */
const LIKELIHOOD = { id: 100, email: 98, linkedin_url: 96, phone: 90, name: 85 } as const;

/** Reads what is to be looked up; what is wrong with it is told to the reader, and then null. `takes` are the fields that the request may have, `domainAlone` whether a domain by itself is a company's lookup. */
export function readLookup(reader: BodyReader, takes: readonly string[], domainAlone: boolean): Lookup | null {
  const given = [...ALONE, 'name'].filter((field) => reader.has(field));
  const places = ['domain', 'company'].filter((field) => takes.includes(field) && reader.has(field));
  const [by, second] = given;
  const [place, otherPlace] = places;
  if (second !== undefined) return refuse(reader, `/${second}`, 'ambiguous', `give ${by} or ${second}, not both`);
  if (otherPlace !== undefined) return refuse(reader, `/${otherPlace}`, 'ambiguous', 'give domain or company, not both');
  if (by === undefined) {
    if (place === 'domain' && domainAlone) return readOne(reader, 'domain');
    if (place !== undefined) return refuse(reader, '', 'required', `${place} alone names nobody: give name with it`);
    return refuse(reader, '', 'required', `nothing to look up: give one of ${ALONE.join(', ')}, or name with ${takes.includes('company') ? 'domain or company' : 'domain'}${domainAlone ? ', or domain alone' : ''}`);
  }
  if (by === 'name') {
    if (place === undefined) return refuse(reader, '', 'required', `a name alone is many people's: give ${takes.includes('company') ? 'domain or company' : 'domain'} with it`);
    return readNamed(reader, place);
  }
  if (place !== undefined) return refuse(reader, `/${place}`, 'ambiguous', `give ${by} or ${place}, not both`);
  return readOne(reader, by as (typeof ALONE)[number]);
}

function readNamed(reader: BodyReader, place: string): Lookup | null {
  const name = reader.string('name');
  const at = reader.string(place);
  if (name === null || at === null) return null;
  const value = fold(name);
  if (value === '') return refuse(reader, '/name', 'invalid_name', 'name is empty');
  if (place === 'company') return { by: 'name', value, where: { company: fold(at) } };
  const domain = normaliseDomain(at);
  return domain === null ? refuse(reader, '/domain', 'invalid_domain', 'domain is no domain name, such as acme.example') : { by: 'name', value, where: { domain } };
}

const NORMALISE: Readonly<Record<(typeof ALONE)[number] | 'domain', { readonly of: (value: string) => string | null; readonly code: string; readonly wanted: string }>> = {
  email: { of: normaliseEmail, code: 'invalid_email', wanted: 'email is no e-mail address' },
  linkedin_url: { of: profileKey, code: 'invalid_url', wanted: 'linkedin_url is no address of a profile' },
  phone: { of: (value) => phoneOf(value) ?? null, code: 'invalid_phone', wanted: 'phone is no number with its country, such as +12125550100' },
  id: { of: (value) => (value === '' ? null : value), code: 'invalid_id', wanted: 'id is empty' },
  domain: { of: normaliseDomain, code: 'invalid_domain', wanted: 'domain is no domain name, such as acme.example' },
};

function readOne(reader: BodyReader, by: (typeof ALONE)[number] | 'domain'): Lookup | null {
  const given = reader.string(by);
  if (given === null) return null;
  const { of, code, wanted } = NORMALISE[by];
  const value = of(given);
  return value === null ? refuse(reader, `/${by}`, code, wanted) : { by, value };
}

function refuse(reader: BodyReader, pointer: string, code: string, detail: string): null {
  reader.fail(pointer, code, detail);
  return null;
}

/** The person, and how sure it is that it is them. @throws ServiceError `no_match`, and `suppressed_person` for who asked to be removed */
export function findPerson(directory: Directory, lookup: Exclude<Lookup, { by: 'domain' }>): { row: PersonRow; match: Match } {
  const found = candidates(directory, lookup);
  const [row] = found;
  if (row === undefined) {
    // Whoever is suppressed was erased and is never loaded again, so only a miss needs the question.
    const gone = lookup.by === 'email' ? directory.isSuppressed(lookup.value) : lookup.by === 'linkedin_url' && directory.isProfileSuppressed(lookup.value);
    if (gone) throw new ServiceError('suppressed_person', 'this person asked to be removed; nothing is kept about them');
    throw new ServiceError('no_match', MISSES[lookup.by]);
  }
  const matchedOn = lookup.by === 'name' ? ['name', ...Object.keys(lookup.where)] : [lookup.by];
  return { row, match: { matchedOn, likelihood: Math.floor(LIKELIHOOD[lookup.by] / found.length) } };
}

const MISSES = {
  email: 'no person is known by this e-mail address',
  linkedin_url: 'no person is known by this profile',
  phone: 'no person is known by this number',
  id: 'no person has this id',
  name: 'no person of this name is known there',
} as const;

function candidates(directory: Directory, lookup: Exclude<Lookup, { by: 'domain' }>): readonly PersonRow[] {
  const one = (row: PersonRow | null): PersonRow[] => (row === null ? [] : [row]);
  switch (lookup.by) {
    case 'email':
      return one(directory.personByEmail(lookup.value));
    case 'linkedin_url':
      return one(directory.personByProfile(lookup.value));
    case 'phone':
      return one(directory.personByMobile(lookup.value));
    case 'id':
      return one(directory.personById(lookup.value));
    case 'name':
      return directory.peopleByName(lookup.value, lookup.where);
    default:
      return lookup satisfies never;
  }
}
