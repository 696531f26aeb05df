/** Parses dates in their usual form without the engine's parser, and other times with it. Pure. */

export const DAY_MS = 86_400_000;

const ZERO = 0x30;
const HYPHEN = 0x2d;
const MIDNIGHT = 'T00:00:00Z';

/**
 * Days since 1970 of a text that begins like `2026-01-28`, for years 1000 to 9999 and days up to the 28th, which every month has. Null: the
 * text may still be a date.
 */
export function plainDay(text: string): number | null {
  if (text.length < 10 || text.charCodeAt(4) !== HYPHEN || text.charCodeAt(7) !== HYPHEN) return null;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  // A character that is no digit gives NaN.
  return year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 28 ? Date.UTC(year, month - 1, day) / DAY_MS : null;
}

/** A day, a month or a year, alone or before a time. The engine reads other texts too, by its own rules. */
const ISO_START = /^\d{4}(?:-\d{2}(?:-\d{2})?)?(?=$|[T ])/;

/** Days since 1970 of an ISO date or time, or of the first day of a month or year; null if it is neither. Earlier days count as day 0. */
export function dayOf(text: unknown): number | null {
  if (typeof text !== 'string') return null;
  const plain = plainDay(text);
  if (plain !== null) return Math.max(0, plain);
  const ms = Date.parse(ISO_START.exec(text)?.[0] ?? '');
  return Number.isNaN(ms) ? null : Math.max(0, Math.floor(ms / DAY_MS));
}

/** Epoch milliseconds of a text like `2026-01-28T00:00:00Z`; null for any other form. */
export function plainMidnight(text: string): number | null {
  if (text.length !== 20 || !text.endsWith(MIDNIGHT)) return null;
  const day = plainDay(text);
  return day === null ? null : day * DAY_MS;
}

/** A date, alone or before a time. */
const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:$|[T ])/;
const ZONE = /(?:z|[+-]\d{2}:?\d{2})$/i;
/** A zone after a blank, as databases and people write it: `12:00:00 UTC`, `12:00:00 +01:00`. */
const SPACED_ZONE = /(?<=:\d{2}(?:\.\d+)?) (?:UTC|GMT|([+-]\d{2}(?::?\d{2})?))$/i;
/** An offset in hours (`+00`): valid in ISO 8601 and common in databases, but the engine rejects it. */
const HOURS_ALONE = /[+-]\d{2}$/;
/** The length of the engine's ISO text for years 0 to 9999; other years have a sign. */
const ISO_LENGTH = 24;

/**
 * Epoch milliseconds of an ISO 8601 date or time, in UTC if it has no offset. Null for other texts, for days that do not exist, and for
 * times that RFC 3339 cannot express.
 */
export function momentOf(text: string): number | null {
  const plain = plainMidnight(text);
  if (plain !== null) return plain;
  const [, day] = MOMENT.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return null;
  const time = text
    .slice(day.length)
    .replace(SPACED_ZONE, (_, offset: string | undefined) => offset ?? 'Z')
    .replace(' ', 'T');
  const missing = time === '' || ZONE.test(time) ? '' : HOURS_ALONE.test(time) ? ':00' : 'Z';
  const ms = Date.parse(`${day}${time}${missing}`);
  return Number.isNaN(ms) || new Date(ms).toISOString().length !== ISO_LENGTH ? null : ms;
}

/** The engine accepts 30 February as 2 March. */
function isDay(day: string): boolean {
  if (plainDay(day) !== null) return true;
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

function twoDigits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at) - ZERO, text.charCodeAt(at + 1) - ZERO];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

/** Twelve months in each of a thousand years: no day is further back. */
const MOST_MONTHS = 12_000;

/**
 * The last day from which at least this many whole months have passed by `today`, by the calendar. Both in days since 1970.
 * A month ends on the same day of the next one, or on its last day where that is shorter: 31 January to 28 February is a month.
 */
export function monthsBefore(today: number, months: number): number {
  const date = new Date(today * DAY_MS);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  const isLastDay = day === Date.UTC(year, month + 1, 0) / DAY_MS - Date.UTC(year, month, 0) / DAY_MS;
  const before = month - Math.min(months, MOST_MONTHS);
  const lastDay = Date.UTC(year, before + 1, 0) / DAY_MS;
  return isLastDay ? lastDay : Math.min(lastDay, Date.UTC(year, before, day) / DAY_MS);
}
