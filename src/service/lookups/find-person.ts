/** Finds the person of a lookup, for enrich and reveal. */
import { normaliseEmail } from '../../verification/address.ts';
import { normaliseDomain } from '../../verification/domain.ts';
import { registrableDomain } from '../../verification/registrable.ts';
import { ServiceError } from '../http/problem.ts';
import { phoneOf } from '../records/field-types.ts';
import { normalise } from '../records/normalise.ts';
import { profileKey } from '../../verification/profile-url.ts';
import type { Match } from '../records/whole-record.ts';
import type { SchemaField } from '../http/body-schema.ts';
import { suppressedPerson } from '../records/suppressed-result.ts';
import type { Directory } from '../store/directory.ts';
import type { PersonRow } from '../store/rows/person-row.ts';
import type { Traces } from '../store/identity/suppressions.ts';
import type { Lookupable } from '../http/body-reader.ts';

/** Each of these names a person by itself. */
const ALONE = ['email', 'linkedin_url', 'phone', 'id'] as const;

export type PersonLookup =
  | { readonly by: (typeof ALONE)[number]; readonly value: string }
  | { readonly by: 'name'; readonly value: string; readonly where: { readonly domain: string } | { readonly company: string } }
  | { readonly by: 'domain'; readonly value: string };

/** Longer than any address, name or URL is. */
const KEY = { type: 'string', minLength: 1, maxLength: 2_048 } as const;

/** The fields that a lookup is made of. */
export const LOOKUP_FIELDS = {
  email: { ...KEY, description: 'Any address of the person, however it is written.', examples: ['jerome.noel@tundra-logistics.example'] },
  linkedin_url: {
    ...KEY,
    description: 'Address of the professional profile; scheme, country and what follows the path do not matter.',
    examples: ['https://profiles.example/in/seoyeon-jung-1000'],
  },
  phone: {
    ...KEY,
    description:
      'A number with its country (E.164), mobile or another of theirs, which is ' +
      "less sure; that of a company is nobody's. Spaces and hyphens do not matter.",
    examples: ['+12125550100'],
  },
  id: { ...KEY, description: 'The `id` of a record that was answered before.', examples: ['pe_000001'] },
  name: {
    ...KEY,
    description: 'Full name, whatever its case and accents, together with where the person works.',
    examples: ['Imani Irving'],
  },
  domain: { ...KEY, description: 'Domain of the company, or a URL in its place.', examples: ['cobalt-materials.example'] },
  company: { ...KEY, description: 'Name of the company.', examples: ['Cobalt Materials'] },
} as const satisfies Readonly<Record<string, SchemaField>>;

/** The sets of fields by which a person is found. */
export const PERSON_FORMS: readonly (readonly string[])[] = [...ALONE.map((field) => [field]), ['name', 'domain'], ['name', 'company']];

/** An address or a number may have a new owner; an id never does. Names are shared. */
const LIKELIHOOD = { id: 100, email: 98, linkedin_url: 96, phone: 90, name: 85 } as const;
/** A number that is not a mobile number may be a desk's, which several people use. */
const DESK_LIKELIHOOD = 60;

/**
 * Reads a lookup. Returns null when it is wrong; the reader then has the findings.
 * @param forms sets of fields; a request gives one of them
 */
export function readLookup(reader: Lookupable, forms: readonly (readonly string[])[]): PersonLookup | null {
  const fields = fieldsOf(forms);
  const given = fields.filter((field) => reader.has(field));
  const form = forms.find((one) => one.length === given.length && one.every((field) => given.includes(field)));
  if (form === undefined) return refuseForm(reader, forms, fields, given);
  const [by, place] = form;
  return place === undefined ? readOne(reader, by as Alone) : readNamed(reader, place as 'domain' | 'company');
}

const fieldsOfForms = new WeakMap<readonly (readonly string[])[], readonly string[]>();

/** The fields of all forms: of an endpoint they are the same for ever. */
function fieldsOf(forms: readonly (readonly string[])[]): readonly string[] {
  let fields = fieldsOfForms.get(forms);
  if (fields === undefined) {
    fields = [...new Set(forms.flat())];
    fieldsOfForms.set(forms, fields);
  }
  return fields;
}

function refuseForm(reader: Lookupable, forms: readonly (readonly string[])[], fields: readonly string[], given: readonly string[]): null {
  const places: readonly string[] = given.filter((field) => field === 'domain' || field === 'company');
  const [by, second] = given.filter((field) => !places.includes(field));
  const [place, otherPlace] = places;
  if (second !== undefined) return refuse(reader, `/${second}`, 'ambiguous', `give ${by} or ${second}, not both`);
  if (otherPlace !== undefined) return refuse(reader, `/${otherPlace}`, 'ambiguous', 'give domain or company, not both');
  const where = fields.includes('company') ? 'domain or company' : 'domain';
  if (by === 'name') return refuse(reader, '', 'required', `a name alone is many people's: give ${where} with it`);
  if (by !== undefined) return refuse(reader, `/${place}`, 'ambiguous', `give ${by} or ${place}, not both`);
  if (place !== undefined) return refuse(reader, '', 'required', `${place} alone names nobody: give name with it`);
  const domainAlone = forms.some((form) => form.length === 1 && form[0] === 'domain');
  const alone = ALONE.filter((field) => fields.includes(field)).join(', ');
  return refuse(
    reader,
    '',
    'required',
    `nothing to look up: give one of ${alone}${fields.includes('name') ? `, or name with ${where}` : ''}` +
      (domainAlone ? ', or domain alone' : ''),
  );
}

function readNamed(reader: Lookupable, place: 'domain' | 'company'): PersonLookup | null {
  const name = reader.text('name');
  const at = reader.text(place);
  if (name === null || at === null) return null;
  const value = normalise(name);
  if (value === '') return refuse(reader, '/name', 'invalid_name', 'name is empty');
  if (place === 'company')
    return normalise(at) === ''
      ? refuse(reader, '/company', 'invalid_company', 'company is empty')
      : { by: 'name', value, where: { company: normalise(at) } };
  const domain = normaliseDomain(at);
  return domain === null
    ? refuse(reader, '/domain', 'invalid_domain', 'domain is no domain name, such as acme.example')
    : { by: 'name', value, where: { domain } };
}

type Alone = (typeof ALONE)[number] | 'domain';

const NORMALISE: Readonly<
  Record<Alone, { readonly of: (value: string) => string | null; readonly code: string; readonly wanted: string }>
> = {
  email: { of: normaliseEmail, code: 'invalid_email', wanted: 'email is no e-mail address' },
  linkedin_url: { of: profileKey, code: 'invalid_url', wanted: 'linkedin_url is no address of a profile' },
  phone: {
    of: (value) => phoneOf(value) ?? null,
    code: 'invalid_phone',
    wanted: 'phone is no number with its country, such as +12125550100',
  },
  id: { of: (value) => (value === '' ? null : value), code: 'invalid_id', wanted: 'id is empty' },
  domain: { of: normaliseDomain, code: 'invalid_domain', wanted: 'domain is no domain name, such as acme.example' },
};

function readOne(reader: Lookupable, by: Alone): PersonLookup | null {
  const given = reader.text(by);
  if (given === null) return null;
  const { of, code, wanted } = NORMALISE[by];
  const value = of(given);
  return value === null ? refuse(reader, `/${by}`, code, wanted) : { by, value };
}

function refuse(reader: Lookupable, pointer: string, code: string, detail: string): null {
  reader.fail(pointer, code, detail);
  return null;
}

/** The record of the company at a domain, or at the one that was registered above it; null when none is known. */
export function findCompany(directory: Directory, domain: string): string | null {
  return directory.companyByDomain(domain) ?? directory.companyByDomain(registrableDomain(domain));
}

/** The person, and how sure it is that it is them. @throws ServiceError `no_match`, and `suppressed_person` for who asked to be removed */
export function findPerson(directory: Directory, lookup: Exclude<PersonLookup, { by: 'domain' }>): { row: PersonRow; match: Match } {
  const { found, likelihood } = candidates(directory, lookup);
  const [row] = found;
  if (row === undefined) {
    // A suppressed person was erased and is never loaded again, so only a miss needs the check. A number of several people stays theirs.
    if (!(lookup.by === 'phone' && directory.hasNumber(lookup.value)) && directory.isSuppressed(tracesOf(lookup))) throw suppressedPerson();
    throw new ServiceError('no_match', MISSES[lookup.by]);
  }
  const matchedOn = lookup.by === 'name' ? ['name', ...Object.keys(lookup.where)] : [lookup.by];
  return { row, match: { matchedOn, likelihood: Math.floor(likelihood / found.length) } };
}

/** The traces of a lookup that identify one person. A name does not. */
function tracesOf(lookup: Exclude<PersonLookup, { by: 'domain' }>): Traces {
  switch (lookup.by) {
    case 'email':
      return { emails: [lookup.value] };
    case 'linkedin_url':
      return { profile: lookup.value };
    case 'phone':
      return { mobiles: [lookup.value], numbers: [lookup.value] };
    case 'id':
      return { id: lookup.value, knownId: lookup.value };
    case 'name':
      return {};
    default:
      return lookup satisfies never;
  }
}

const MISSES = {
  email: 'no person is known by this e-mail address',
  linkedin_url: 'no person is known by this profile',
  phone: 'nobody is known by this number alone',
  id: 'no person has this id',
  name: 'no person of this name is known there',
} as const;

/** The candidates of a lookup. They share the likelihood. */
function candidates(
  directory: Directory,
  lookup: Exclude<PersonLookup, { by: 'domain' }>,
): { found: readonly PersonRow[]; likelihood: number } {
  const one = (row: PersonRow | null, likelihood: number = LIKELIHOOD[lookup.by]): { found: PersonRow[]; likelihood: number } => ({
    found: row === null ? [] : [row],
    likelihood,
  });
  switch (lookup.by) {
    case 'email':
      return one(directory.personByEmail(lookup.value));
    case 'linkedin_url':
      return one(directory.personByProfile(lookup.value));
    case 'phone': {
      const owner = directory.personByNumber(lookup.value);
      return one(owner?.row ?? null, owner?.isMobile === false ? DESK_LIKELIHOOD : LIKELIHOOD.phone);
    }
    case 'id':
      return one(directory.personById(lookup.value));
    case 'name':
      return { found: directory.peopleByName(lookup.value, lookup.where), likelihood: LIKELIHOOD.name };
    default:
      return lookup satisfies never;
  }
}
