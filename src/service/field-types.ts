/** What each field of a person and a company record holds, as the definitions say; what cannot be such a value is not kept. Pure. */
import { normaliseEmail } from '../verification/address.ts';
import { normaliseDomain } from '../verification/domain.ts';
import { remembering } from './fold.ts';
import { BY_TYPE, PARTS, TEXT_OR_PART, type Part } from './part-types.ts';
import type { COMPANY_FIELDS, PERSON_FIELDS, SparseRecord } from './records.ts';
import { isEmpty, isObject } from './values.ts';

export type FieldType = 'string' | 'word' | 'integer' | 'number' | 'boolean' | 'date' | 'time' | 'email' | 'domain' | 'phone' | 'strings' | 'objects' | 'object';

/** What an answer says of itself and not of the person. */
type Computed = 'likelihood' | 'matched_on' | 'verified';

export const PERSON_TYPES: Readonly<Record<Exclude<(typeof PERSON_FIELDS)[number], Computed> | 'company_domain' | 'company_name', FieldType>> = {
  id: 'string', email: 'email', name: 'string', first_name: 'string', middle_name: 'string', last_name: 'string', name_aliases: 'strings', headline: 'string', title: 'string',
  seniority: 'word', department: 'word', sub_department: 'string', summary: 'string', role_started_on: 'date', tenure_months: 'integer', years_experience: 'integer',
  job_changed_at: 'time', email_status: 'word', email_type: 'word', email_confidence: 'integer', email_verified_at: 'time', emails: 'objects', personal_emails: 'strings',
  mobile: 'phone', phones: 'objects', location: 'object', time_zone: 'string', linkedin_url: 'string', linkedin_id: 'string', twitter_url: 'string', github_url: 'string',
  facebook_url: 'string', website_url: 'string', photo_url: 'string', skills: 'strings', languages: 'strings', certifications: 'objects', education: 'objects',
  employment_history: 'objects', sources_count: 'integer', first_seen_at: 'time', updated_at: 'time', company_domain: 'domain', company_name: 'string',
};

export const COMPANY_TYPES: Readonly<Record<Exclude<(typeof COMPANY_FIELDS)[number], 'signals'>, FieldType>> = {
  id: 'string', name: 'string', legal_name: 'string', domain: 'domain', employees: 'integer', employees_range: 'string', revenue: 'string', revenue_usd: 'integer', revenue_range: 'string',
  industry: 'string', sector: 'string', type: 'word', description: 'string', founded_year: 'integer', stack: 'strings', technologies: 'objects', hq: 'object', locations: 'objects',
  phone: 'string', logo_url: 'string', linkedin_url: 'string', linkedin_followers: 'integer', twitter_url: 'string', facebook_url: 'string', crunchbase_url: 'string', ticker: 'string',
  exchange: 'string', parent_domain: 'domain', subsidiaries: 'objects', domain_aliases: 'strings', email_provider: 'word', email_pattern: 'string', accepts_all: 'boolean', naics: 'strings',
  sic: 'strings', keywords: 'strings', employees_by_department: 'object', employees_by_country: 'object', headcount_growth: 'object', funding: 'object', hiring: 'object', updated_at: 'time',
};

const MAX_TEXT = 10_000;
const MAX_ITEMS = 1_000;
const LIST_SEPARATOR = /[;|]/;

/** Of when a record is stands beside it, and not in it. */
const MOMENT = 'updated_at';
/** In a `Part`, every name that is not there. */
const ANY = '*';

/** The domain in a text, as `normaliseDomain` has it: many people work at one. */
export const domainOf: (text: string) => string | null = remembering(normaliseDomain);

/** Days come again and again. */
const dayOf: (text: string) => string | null = remembering((text) => timeOf(text)?.slice(0, 10) ?? null);

/** The fields of `raw` that have a good value, as it is kept, and any other undefined; `dropped` names those whose value is none. */
export function cleanRecord(raw: SparseRecord, types: Readonly<Record<string, FieldType>>): { record: Record<string, unknown>; dropped: string[] } {
  // A copy that is changed here and there is several times as fast as one that is put together: most values are good as they come.
  const record: Record<string, unknown> = { ...raw };
  const dropped: string[] = [];
  for (const field in raw) {
    const value = raw[field];
    const isKnown = !isEmpty(value) && Object.hasOwn(types, field);
    const kept = isKnown ? fitting(field, cleanValue(types[field] as FieldType, value)) : undefined;
    if (isKnown && kept === undefined && !saysNothing(value)) dropped.push(field);
    const now = field === MOMENT ? undefined : kept;
    if (now !== value) record[field] = now;
  }
  return { record, dropped };
}

/** What is within an object, or within each of a list, as `PARTS` has it, with null for what is not known; undefined when nothing is. */
function fitting(field: string, value: unknown): unknown {
  const part = typeof value === 'object' ? PARTS[field] : undefined;
  if (part === undefined) return value;
  if (BY_TYPE.includes(field)) return isObject(value) ? cleanPart(value, part) : undefined;
  if (!Array.isArray(value)) return wholePart(value as SparseRecord, part);
  const items = (value as readonly unknown[]).map((item) => (isObject(item) ? wholePart(item, part) : typeof item === 'string' && TEXT_OR_PART.includes(field) ? item : undefined)).filter((item) => item !== undefined);
  return items.length === 0 ? undefined : items;
}

/** With every part that has a name; undefined when nothing is known of any. */
function wholePart(raw: SparseRecord, part: Part): SparseRecord | undefined {
  const whole = withParts(raw, part, cleanMember);
  return saysNothing(whole) ? undefined : whole;
}

/** An object with null for each named part that it lacks, and those in their order. @param clean what becomes of a member; undefined: it is left out */
export function withParts(value: SparseRecord, part: Part, clean: typeof cleanMember = (_, member) => member): SparseRecord {
  const whole: Record<string, unknown> = {};
  for (const name in part) if (name !== ANY) whole[name] = clean(part[name], value[name] ?? null) ?? null;
  for (const name in value) if (name === ANY || !Object.hasOwn(part, name)) put(whole, name, clean(part[ANY], value[name]));
  return whole;
}

function cleanPart(raw: SparseRecord, part: Part): SparseRecord {
  const kept: Record<string, unknown> = {};
  for (const name in raw) put(kept, name, cleanMember(Object.hasOwn(part, name) ? part[name] : part[ANY], raw[name]));
  return kept;
}

function put(kept: Record<string, unknown>, name: string, value: unknown): void {
  if (value === undefined) return;
  if (name === '__proto__') Object.defineProperty(kept, name, { value, enumerable: true, configurable: true, writable: true });
  else kept[name] = value;
}

/** @param type undefined: it is kept as it came */
function cleanMember(type: Part[string] | undefined, value: unknown): unknown {
  if (type === undefined || type === 'any' || value === null) return value;
  if (typeof type === 'string') return cleanValue(type, value);
  return isObject(value) ? wholePart(value, type) : undefined;
}

/** Whether there is nothing in a value, nor within it; what is nested deeper than parts are is something. */
function saysNothing(value: unknown, levels = 3): boolean {
  return isEmpty(value) || (typeof value === 'object' && levels > 0 && Object.values(value as object).every((inner) => saysNothing(inner, levels - 1)));
}

function cleanValue(type: FieldType, value: unknown): unknown {
  switch (type) {
    case 'string':
      return textOf(value);
    case 'word':
      return textOf(value)?.toLowerCase().replaceAll(/[\s-]+/g, '_');
    case 'integer': {
      const number = numberOf(value);
      const whole = Math.round(number ?? NaN);
      // Nothing here is below zero, and `1.200` may be meant for 1,200; 1.1k is whole but for the computer's rounding.
      return number === undefined || !Number.isSafeInteger(whole) || whole < 0 || Math.abs(number - whole) > 1e-6 ? undefined : whole;
    }
    case 'number':
      return numberOf(value);
    case 'boolean':
      return typeof value === 'boolean' ? value : /^(?:true|yes|1)$/i.test(textOf(value) ?? '') ? true : /^(?:false|no|0)$/i.test(textOf(value) ?? '') ? false : undefined;
    case 'date':
      return typeof value === 'string' ? (dayOf(value) ?? undefined) : undefined;
    case 'time':
      return timeOf(value);
    case 'email':
      return normaliseEmail(textOf(value) ?? '') ?? undefined;
    case 'domain':
      return domainOf(textOf(value) ?? '') ?? undefined;
    case 'phone':
      return phoneOf(value);
    case 'strings': {
      const items = (typeof value === 'string' ? value.split(LIST_SEPARATOR) : Array.isArray(value) ? (value as readonly unknown[]) : []).map(textOf).filter((item) => item !== undefined);
      return items.length === 0 || items.length > MAX_ITEMS ? undefined : items;
    }
    case 'objects':
      return Array.isArray(value) && value.length <= MAX_ITEMS ? value : undefined;
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) ? value : undefined;
    default:
      return type satisfies never;
  }
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' || text.length > MAX_TEXT ? undefined : text;
}

/** Numbers as people write them: `1,200`, `$12M`, `3.5k`. A comma that does not part thousands (`2,5`) may be a decimal one: then it is none. */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const [, digits, unit = ''] = /^[$€£]?\s*(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([kmb]n?)?$/i.exec(value.trim()) ?? [];
  if (digits === undefined) return undefined;
  const factor = { k: 1e3, m: 1e6, b: 1e9 }[unit.slice(0, 1).toLowerCase()] ?? 1;
  return Number(digits.replaceAll(',', '')) * factor;
}

/** As times are kept; most are at midnight. */
const UTC = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T00:00:00Z$/;

/** RFC 3339 in UTC; only ISO 8601 is read, for 03/04/2026 is two days. */
export function timeOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (UTC.test(value)) return value;
  if (!/^\d{4}-\d{2}-\d{2}(?:$|[T ])/.test(value)) return undefined;
  const ms = Date.parse(value.length === 10 ? value : value.replace(' ', 'T'));
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** E.164 (ITU-T): a plus and up to 15 digits. A number without its country is nobody's in particular. */
export function phoneOf(value: unknown): string | undefined {
  const text = textOf(value)?.replaceAll(/[\s().\-/]/g, '').replace(/^00/, '+');
  return text !== undefined && /^\+[1-9]\d{6,14}$/.test(text) ? text : undefined;
}
