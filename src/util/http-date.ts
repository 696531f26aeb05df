/** HTTP dates (RFC 9110, 5.6.7) and RFC 3339 times. Pure: the clock is an argument. */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** Sun, 06 Nov 1994 08:49:37 GMT */
const IMF_FIXDATE = /^[a-z]{3,9}, (\d{1,2}) ([a-z]{3}) (\d{4}) (\d\d):(\d\d):(\d\d) (?:GMT|UTC|Z)$/i;
/** Sunday, 06-Nov-94 08:49:37 GMT */
const RFC_850 = /^[a-z]{3,9}, (\d\d)-([a-z]{3})-(\d\d) (\d\d):(\d\d):(\d\d) GMT$/i;
/** Sun Nov  6 08:49:37 1994; in UTC, although `Date.parse` reads it as local time. */
const ASCTIME = /^[a-z]{3} ([a-z]{3}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})$/i;
/** Not an HTTP date, but servers send it. */
const RFC_3339 = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/i;

const EPOCH_SECONDS_FROM = 1e9;
const EPOCH_MS_FROM = 1e11;

/** Longer than any date. Longer texts are not parsed. */
const MAX_LENGTH = 64;

/**
 * An HTTP date (RFC 9110, 5.6.7: all three forms) or RFC 3339 time as epoch milliseconds; null for anything else.
 * `nowMs` decides the century of a two-digit year.
 */
export function parseHttpDate(text: string, nowMs: number): number | null {
  if (text === '' || text.length > MAX_LENGTH) return null;
  let m = IMF_FIXDATE.exec(text);
  if (m !== null) return utc(Number(m[3]), m[2], m[1], m[4], m[5], m[6]);
  m = RFC_850.exec(text);
  if (m !== null) return utc(fullYear(Number(m[3]), nowMs), m[2], m[1], m[4], m[5], m[6]);
  m = ASCTIME.exec(text);
  if (m !== null) return utc(Number(m[6]), m[1], m[2], m[3], m[4], m[5]);
  if (!RFC_3339.test(text)) return null;
  const ms = Date.parse(text.replace(' ', 'T'));
  return Number.isNaN(ms) ? null : ms;
}

/** The time of a number that cannot be a delay, because it would be decades: epoch seconds from 1e9 on, epoch milliseconds from 1e11 on. */
export function parseEpoch(number: number): number | null {
  return number < EPOCH_SECONDS_FROM ? null : number < EPOCH_MS_FROM ? number * 1_000 : number;
}

type Digits = string | undefined;

function utc(year: number, month: Digits, day: Digits, hour: Digits, minute: Digits, second: Digits): number | null {
  const monthIndex = MONTHS.indexOf((month ?? '').toLowerCase());
  const [d, h, min, s] = [Number(day), Number(hour), Number(minute), Number(second)];
  // 60: a leap second is valid in an HTTP date.
  if (monthIndex < 0 || d < 1 || d > 31 || h > 23 || min > 59 || s > 60) return null;
  // setUTCFullYear: Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const midnight = new Date(0).setUTCFullYear(year, monthIndex, d);
  return midnight + ((h * 60 + min) * 60 + s) * 1000;
}

/** A two-digit year that seems more than 50 years ahead is in the past (RFC 9110, 5.6.7). */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = thisYear - (thisYear % 100) + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
