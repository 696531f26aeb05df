/** Reads dates and times of files: ISO 8601, and the forms of `written-date.ts`. Pure. */
import { momentOf, plainDay } from './parse-date.ts';
import { readWrittenDate } from './written-date.ts';

/** Other years are placeholders of databases and programs, such as 0001, 1753, 1900 and 9999. */
const FIRST_YEAR = 1901;
const LAST_YEAR = 2100;
/** Seconds since 1970, with or without decimals, or milliseconds. */
const EPOCH = /^\d{9,10}(?:\.\d+)?$|^\d{12,13}$/;
const LEAST_EPOCH_MS = 1e11;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** A month or a year alone, as objects of a record have them. */
const MONTH = /^\d{4}-(?:0[1-9]|1[0-2])$/;
const YEAR = /^\d{4}$/;

/** Whether a text of ISO 8601 begins with a year in which something can have happened. */
export function hasRealYear(iso: string): boolean {
  const year = Number(iso.slice(0, 4));
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}

/**
 * Epoch milliseconds of a date or time, in UTC if it has no offset, and of the first day of a month (`2025-06`). Null for other texts, for
 * two possible days, for days that do not exist, and for the years of placeholders.
 */
export function readTime(text: string): number | null {
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
  if (text.length === 10 ? plainDay(text) !== null || (DAY.test(text) && momentOf(text) !== null) : YEAR.test(text) || MONTH.test(text))
    return hasRealYear(text) ? text : undefined;
  const written = readWrittenDate(text);
  if (written?.kind === 'one' && written.isMonth) return readPartialDate(written.iso);
  const ms = readTime(text);
  return ms === null ? undefined : new Date(ms).toISOString().slice(0, 10);
}
