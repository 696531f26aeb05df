/** The types of fields: which values each accepts, and how they are normalised. Pure. */
import { normaliseEmail } from '../../verification/address.ts';
import { isPlainDomain, normaliseDomain } from '../../verification/domain.ts';
import { normalisePhone } from '../../verification/phone.ts';
import { plainMidnight } from './parse-date.ts';
import { hasRealYear, isPlainDate, readPartialDate, readTime } from './read-date.ts';
import { holdsAddress } from './contact-details.ts';
import { isBlankText } from './empty-words.ts';
import { memoize } from './normalise.ts';

/**
 * `string`, `word` and `strings` are free text, so contact data is removed from them (`contact-details.ts`). `email` and `phone` are
 * normalised; `address`, `addresses` and `telephone` stay as written. `partial_date` is a day, a month or a year. `object` and `objects`
 * have fields of their own.
 */
export type FieldType =
  | 'string'
  | 'word'
  | 'integer'
  | 'number'
  | 'boolean'
  | 'date'
  | 'partial_date'
  | 'time'
  | 'email'
  | 'address'
  | 'domain'
  | 'phone'
  | 'telephone'
  | 'strings'
  | 'addresses'
  | 'objects'
  | 'object'
  | 'text_or_object';

const MAX_TEXT = 10_000;
/** Longer lists are rejected. */
export const MAX_ITEMS = 1_000;
const LIST_SEPARATOR = /[;|]/;

/** The domain in a text, by `normaliseDomain`, cached because many people share one. */
export function domainOf(text: string): string | null {
  return isPlainDomain(text) ? text : knownDomainOf(text);
}

const knownDomainOf: (text: string) => string | null = memoize(normaliseDomain);

function dayOf(text: string): string | undefined {
  return isPlainDate(text) ? text : timeOf(text)?.slice(0, 10);
}

/** The normalised value of a type; undefined if it is bad. A value in normal form is returned unchanged. */
export function cleanValue(type: FieldType, value: unknown): unknown {
  switch (type) {
    case 'string':
      return textOf(value);
    case 'word':
      return wordOf(textOf(value));
    case 'integer': {
      const number = numberOf(value);
      const whole = Math.round(number ?? NaN);
      // No value is negative; `1.200` may mean 1,200; and 1.1k is whole except for rounding.
      return number === undefined || !Number.isSafeInteger(whole) || whole < 0 || Math.abs(number - whole) > 1e-6 ? undefined : whole;
    }
    case 'number':
      return numberOf(value);
    case 'boolean':
      return typeof value === 'boolean'
        ? value
        : /^(?:true|yes|1)$/i.test(textOf(value) ?? '')
          ? true
          : /^(?:false|no|0)$/i.test(textOf(value) ?? '')
            ? false
            : undefined;
    case 'date':
      return typeof value === 'string' || typeof value === 'number' ? dayOf(String(value)) : undefined;
    case 'partial_date':
      if (typeof value === 'string' && isPlainDate(value)) return value;
      return typeof value === 'string' || typeof value === 'number' ? readPartialDate(String(value).trim()) : undefined;
    case 'time':
      return timeOf(value);
    case 'email':
      return normaliseEmail(textOf(value) ?? '') ?? undefined;
    case 'address':
      return addressOf(value);
    case 'domain':
      return domainOf(textOf(value) ?? '') ?? undefined;
    case 'phone':
      return phoneOf(value);
    case 'telephone': {
      const text = textOf(value);
      return text === undefined || holdsAddress(text) ? undefined : text;
    }
    case 'strings':
      return itemsOf(value, textOf);
    case 'addresses':
      return itemsOf(value, addressOf);
    case 'objects':
      return Array.isArray(value) && value.length <= MAX_ITEMS ? value : undefined;
    case 'text_or_object':
      return typeof value === 'string' ? textOf(value) : typeof value === 'object' && !Array.isArray(value) ? value : undefined;
    case 'object':
      return typeof value === 'object' && !Array.isArray(value) ? value : undefined;
    default:
      return type satisfies never;
  }
}

/** The good items of a list, which may be one text. */
function itemsOf(value: unknown, read: (item: unknown) => string | undefined): string[] | undefined {
  // Most lists are good as they are.
  if (Array.isArray(value) && value.length > 0 && value.length <= MAX_ITEMS && value.every((item) => read(item) === item))
    return value as string[];
  const items = (typeof value === 'string' ? splitList(value) : Array.isArray(value) ? (value as readonly unknown[]) : [])
    .map(read)
    .filter((item) => item !== undefined);
  return items.length === 0 || items.length > MAX_ITEMS ? undefined : items;
}

function addressOf(value: unknown): string | undefined {
  const text = textOf(value);
  return text === undefined || normaliseEmail(text) === null ? undefined : text;
}

/** Splits a list that is one text, as in tables. */
export function splitList(text: string): string[] {
  return text.split(LIST_SEPARATOR);
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  return text.length > MAX_TEXT || isBlankText(text) ? undefined : text;
}

function wordOf(text: string | undefined): string | undefined {
  return text === undefined || /^[a-z\d_]+$/.test(text) ? text : text.toLowerCase().replaceAll(/[\s-]+/g, '_');
}

/**
 * Numbers as people write them: `1,200`, `$12M`, `3.5k`. A comma that separates no thousands (`2,5`) may be a decimal one, so the value is
 * rejected.
 */
export function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined;
  if (typeof value !== 'string' || value.length > 40) return undefined;
  const [, digits, unit = ''] = /^[$€£]?\s*(-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*([kmb]n?)?$/i.exec(value.trim()) ?? [];
  if (digits === undefined) return undefined;
  const factor = { k: 1e3, m: 1e6, b: 1e9 }[unit.slice(0, 1).toLowerCase()] ?? 1;
  return Number(digits.replaceAll(',', '')) * factor;
}

/** RFC 3339 in UTC, see `readTime`. */
export function timeOf(value: unknown): string | undefined {
  if (typeof value === 'number') return timeOf(String(value));
  if (typeof value !== 'string') return undefined;
  // The normal form; most times are at midnight.
  if (plainMidnight(value) !== null && hasRealYear(value)) return value;
  const ms = readTime(value.trim());
  return ms === null ? undefined : new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** E.164, see `normalisePhone`. @param country of a national number */
export function phoneOf(value: unknown, country: string | null = null): string | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : (normalisePhone(text, country) ?? undefined);
}
