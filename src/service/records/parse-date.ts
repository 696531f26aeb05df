/** Parses dates in their usual form without the engine's parser, and other times with it. Pure. */
import { readWrittenDate } from './written-date.ts';

export const DAY_MS = 86_400_000;

/** Other years are placeholders of databases and programs, such as 0001, 1753, 1900 and 9999. */
const FIRST_YEAR = 1901;
const LAST_YEAR = 2100;

const ZERO = 0x30;
const HYPHEN = 0x2d;
const MIDNIGHT = 'T00:00:00Z';

/**
 * Days since 1970 of a text that begins like `2026-01-28`, for days up to the 28th, which every month has. Null: the text may still be a
 * date.
 */
export function plainDay(text: string): number | null {
  if (text.length < 10 || text.charCodeAt(4) !== HYPHEN || text.charCodeAt(7) !== HYPHEN) return null;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  // A character that is no digit gives NaN.
  return year >= FIRST_YEAR && year <= LAST_YEAR && month >= 1 && month <= 12 && day >= 1 && day <= 28
    ? Date.UTC(year, month - 1, day) / DAY_MS
    : null;
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
/** Seconds since 1970, with or without decimals, or milliseconds. */
const EPOCH = /^\d{9,10}(?:\.\d+)?$|^\d{12,13}$/;
const LEAST_EPOCH_MS = 1e11;

/**
 * Epoch milliseconds of a date or time, in UTC if it has no offset, and of the first day of a month (`2025-06`). ISO 8601, and the texts
 * of `readWrittenDate`. Null for other texts, for two possible days, for days that do not exist, and for the years of placeholders.
 */
export function momentOf(text: string): number | null {
  const plain = plainMidnight(text);
  if (plain !== null) return plain;
  const ms = EPOCH.test(text)
    ? Math.round(Number(text) * (Number(text) >= LEAST_EPOCH_MS ? 1 : 1_000))
    : (isoMoment(text) ?? writtenMoment(text));
  const year = ms === null ? NaN : new Date(ms).getUTCFullYear();
  return year >= FIRST_YEAR && year <= LAST_YEAR ? ms : null;
}

function isoMoment(text: string): number | null {
  const [, day] = MOMENT.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return null;
  const time = text
    .slice(day.length)
    .replace(SPACED_ZONE, (_, offset: string | undefined) => offset ?? 'Z')
    .replace(' ', 'T');
  const missing = time === '' || ZONE.test(time) ? '' : HOURS_ALONE.test(time) ? ':00' : 'Z';
  const ms = Date.parse(`${day}${time}${missing}`);
  return Number.isNaN(ms) ? null : ms;
}

function writtenMoment(text: string): number | null {
  const written = readWrittenDate(text);
  return written?.kind === 'one' ? Date.parse(written.isMonth ? `${written.iso}-01` : written.iso) : null;
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

/** A month or a year alone, as objects of a record have them. */
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const YEAR = /^\d{4}$/;

/** A day, a month or a year in ISO 8601, as it is known: `2025-06-01`, `2025-06`, `2025`; undefined for another text. */
export function partialDate(text: string): string | undefined {
  if (text.length === 10 && plainDay(text) !== null) return text;
  const year = Number(text.slice(0, 4));
  if (YEAR.test(text) || MONTH.test(text)) return year >= FIRST_YEAR && year <= LAST_YEAR ? text : undefined;
  const written = readWrittenDate(text);
  if (written?.kind === 'one' && written.isMonth) return partialDate(written.iso);
  const ms = momentOf(text);
  return ms === null ? undefined : new Date(ms).toISOString().slice(0, 10);
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
