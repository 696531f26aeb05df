/** What the objects within records hold, as far as it is known by name: kept by it, null where nothing is known, and published by it. Pure. */
import { normaliseEmail } from '../verification/address.ts';
import { phoneOf, type FieldType } from './field-types.ts';
import type { SignalType } from './signal-types.ts';

/** The fields of an object by name; `*` is any name. What is not named is kept as it came. */
export interface Part {
  readonly [field: string]: FieldType | 'any' | Part;
}

const COUNTS: Part = { '*': 'number' };
const PLACE: Part = { name: 'string', city: 'string', region: 'string', country: 'string', country_code: 'string', postal_code: 'string', lat: 'number', lng: 'number' };

/** Of a signal, by its type. Whom somebody came from and went to, a company or a role, is kept as it came. */
export const SIGNAL_DATA: Readonly<Record<SignalType, Part>> = {
  funding: { round_type: 'string', amount: 'number', currency: 'string', amount_usd: 'number', investors: 'strings', lead_investors: 'strings', total_raised_usd: 'number' },
  hiring: { openings: 'number', delta_30d: 'number', departments: 'strings', titles: 'strings', locations: 'strings' },
  executive_move: { move: 'string', from: 'any', to: 'any', effective_on: 'string' },
  technology_change: { change: 'string', technology: 'string', category: 'string' },
};

/** Of a field that is an object, or a list of such. Days within them may be known by month or year alone, so they are text. */
export const PARTS: Readonly<Record<string, Part>> = {
  emails: { email: 'string', type: 'string', status: 'string' },
  phones: { number: 'string', type: 'string' },
  location: PLACE,
  certifications: { name: 'string', issuer: 'string', issued_on: 'string' },
  education: { school: 'string', degree: 'string', started_on: 'string', ended_on: 'string' },
  employment_history: { title: 'string', domain: 'string', started_on: 'string', ended_on: 'string', is_current: 'boolean' },
  technologies: { name: 'string', category: 'string', first_seen_on: 'string', last_seen_on: 'string' },
  hq: PLACE,
  locations: PLACE,
  subsidiaries: { name: 'string', domain: 'string' },
  employees_by_department: COUNTS,
  employees_by_country: COUNTS,
  headcount_growth: { m3: 'number', m6: 'number', m12: 'number', m24: 'number' },
  funding: { total_usd: 'number', rounds_count: 'integer', last_stage: 'string', last_amount_usd: 'number', last_date: 'string', investors: 'strings', rounds: 'objects' },
  hiring: { open_roles: 'integer', by_department: COUNTS, by_country: COUNTS, delta_30d: 'number', last_posted_on: 'string' },
  person: { id: 'string', name: 'string', title: 'string', linkedin_url: 'string' },
  data: Object.assign({}, ...Object.values(SIGNAL_DATA)) as Part,
};

/** Which parts are to be there goes by the type of the signal. */
export const BY_TYPE: readonly string[] = ['data'];

/** Lists of which an item may be text: an address alone. */
export const TEXT_OR_PART: readonly string[] = ['emails'];

/** Lists that may come as one text with semicolons between, or as texts: what such a text is in an item, if it is one. */
export const TEXT_AS: Readonly<Record<string, { readonly part: string; readonly read: (text: string) => string | undefined }>> = {
  emails: { part: 'email', read: (text) => normaliseEmail(text) ?? undefined },
  phones: { part: 'number', read: phoneOf },
};
