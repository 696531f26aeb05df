/** What each field of a person and a company record holds, as the definitions say; what cannot be such a value is not kept. Pure. */
import { normaliseEmail } from '../verification/address.ts';
import { isPlainDomain, normaliseDomain } from '../verification/domain.ts';
import { momentOf, plainDay, plainMidnight } from './days.ts';
import { remembering } from './fold.ts';
import type { COMPANY_FIELDS, PERSON_FIELDS } from './records.ts';

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
/** A longer list is none. */
export const MAX_ITEMS = 1_000;
const LIST_SEPARATOR = /[;|]/;

/** The domain in a text, as `normaliseDomain` has it: many people work at one. */
export function domainOf(text: string): string | null {
  return isPlainDomain(text) ? text : knownDomainOf(text);
}

const knownDomainOf: (text: string) => string | null = remembering(normaliseDomain);

function dayOf(text: string): string | undefined {
  return text.length === 10 && plainDay(text) !== null ? text : timeOf(text)?.slice(0, 10);
}

/** A value as it is kept in a field of this type; undefined when it is none. What is good already is returned as it came. */
export function cleanValue(type: FieldType, value: unknown): unknown {
  switch (type) {
    case 'string':
      return textOf(value);
    case 'word':
      return wordOf(textOf(value));
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
      return typeof value === 'string' ? dayOf(value) : undefined;
    case 'time':
      return timeOf(value);
    case 'email':
      return normaliseEmail(textOf(value) ?? '') ?? undefined;
    case 'domain':
      return domainOf(textOf(value) ?? '') ?? undefined;
    case 'phone':
      return phoneOf(value);
    case 'strings': {
      const items = (typeof value === 'string' ? splitList(value) : Array.isArray(value) ? (value as readonly unknown[]) : []).map(textOf).filter((item) => item !== undefined);
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

/** A list that is one text, as tables have it. */
export function splitList(text: string): string[] {
  return text.split(LIST_SEPARATOR);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text === '' || text.length > MAX_TEXT ? undefined : text;
}

function wordOf(text: string | undefined): string | undefined {
  return text === undefined || /^[a-z\d_]+$/.test(text) ? text : text.toLowerCase().replaceAll(/[\s-]+/g, '_');
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

/** RFC 3339 in UTC; only ISO 8601 is read, for 03/04/2026 is two days. */
export function timeOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  // As times are kept; most are at midnight.
  if (plainMidnight(value) !== null) return value;
  const ms = momentOf(value);
  return ms === null ? undefined : new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** E.164 (ITU-T): a plus and up to 15 digits. A number without its country is nobody's in particular. */
export function phoneOf(value: unknown): string | undefined {
  // `+44 (0)20 ...`: the nought is dialled within the country alone. In Italy and San Marino it is part of the number.
  const text = textOf(value)?.replace(/^((?:\+|00)(?!39|378)[^(]{1,8})\(\s*0\s*\)/, '$1').replaceAll(/[\s().\-/]/g, '').replace(/^00/, '+');
  return text !== undefined && /^\+[1-9]\d{6,14}$/.test(text) ? text : undefined;
}
