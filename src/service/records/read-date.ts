/** Reads dates and times of files: ISO 8601, and the forms of `written-date.ts`. Pure. */
import { momentOf, plainMidnight } from './parse-date.ts';
import { readWrittenDate } from './written-date.ts';

/** Other years are placeholders of databases and programs, such as 0001, 1753, 1900 and 9999. */
const FIRST_YEAR = 1901;
const LAST_YEAR = 2100;
/** Seconds since 1970, with or without decimals, or milliseconds. */
const EPOCH = /^\d{9,10}(?:\.\d+)?$|^\d{12,13}$/;
const LEAST_EPOCH_MS = 1e11;
/** A month or a year alone, as objects of a record have them. */
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const YEAR = /^\d{4}$/;

const ZERO = 0x30;
const HYPHEN = 0x2d;
const DAYS_IN_MONTH = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a text of ISO 8601 begins with a year in which something can have happened. */
export function hasRealYear(iso: string): boolean {
  const year = digits(iso, 0) * 100 + digits(iso, 2);
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}

/** Whether a text is a day such as `2026-01-31`, which nearly all dates are. No object is made for it. */
export function isPlainDate(text: string): boolean {
  if (text.length !== 10 || text.charCodeAt(4) !== HYPHEN || text.charCodeAt(7) !== HYPHEN || !hasRealYear(text)) return false;
  const [month, day] = [digits(text, 5), digits(text, 8)];
  const isLeapDay = month === 2 && day === 29 && new Date(Date.UTC(Number(text.slice(0, 4)), 1, 29)).getUTCMonth() === 1;
  return isLeapDay || (day >= 1 && day <= (DAYS_IN_MONTH[month - 1] ?? 0));
}

/** The number of two digits; NaN for other characters. */
function digits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at) - ZERO, text.charCodeAt(at + 1) - ZERO];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}

/**
 * Epoch milliseconds of a date or time, in UTC if it has no offset, and of the first day of a month (`2025-06`). Null for other texts, for
 * two possible days, for days that do not exist, and for the years of placeholders.
 */
export function readTime(text: string): number | null {
  // Most times of exports have this form.
  const plain = plainMidnight(text);
  if (plain !== null) return hasRealYear(text) ? plain : null;
  const ms = EPOCH.test(text)
    ? Math.round(Number(text) * (Number(text) >= LEAST_EPOCH_MS ? 1 : 1_000))
    : (momentOf(text) ?? writtenTime(text));
  return ms !== null && hasRealYear(new Date(ms).toISOString()) ? ms : null;
}

function writtenTime(text: string): number | null {
  const written = readWrittenDate(text);
  return written?.kind === 'one' ? Date.parse(written.isMonth ? `${written.iso}-01` : written.iso) : null;
}

/** A day, a month or a year in ISO 8601, as it is known: `2025-06-01`, `2025-06`, `2025`; undefined for another text. */
export function readPartialDate(text: string): string | undefined {
  if (isPlainDate(text)) return text;
  if (YEAR.test(text) || MONTH.test(text)) return hasRealYear(text) ? text : undefined;
  const written = readWrittenDate(text);
  if (written?.kind === 'one' && written.isMonth) return readPartialDate(written.iso);
  const ms = readTime(text);
  return ms === null ? undefined : new Date(ms).toISOString().slice(0, 10);
}
