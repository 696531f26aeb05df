/** Days as most records write them, read without the engine's parser of dates; and the moments of others. Pure. */

export const DAY_MS = 86_400_000;

const ZERO = 0x30;
const HYPHEN = 0x2d;
const MIDNIGHT = 'T00:00:00Z';

/** Days since 1970 of a text that begins with `2026-01-28`: of the years 1000 to 9999 and no later than the 28th, which every month has. Null: it may be a day or none. */
export function plainDay(text: string): number | null {
  if (text.length < 10 || text.charCodeAt(4) !== HYPHEN || text.charCodeAt(7) !== HYPHEN) return null;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  // What is no digit makes NaN of it.
  return year >= 1000 && month >= 1 && month <= 12 && day >= 1 && day <= 28 ? Date.UTC(year, month - 1, day) / DAY_MS : null;
}

/** The same of `2026-01-28T00:00:00Z`, in epoch milliseconds. */
export function plainMidnight(text: string): number | null {
  if (text.length !== 20 || !text.endsWith(MIDNIGHT)) return null;
  const day = plainDay(text);
  return day === null ? null : day * DAY_MS;
}

/** A day alone, or with a time after it. */
const MOMENT = /^(\d{4}-\d{2}-\d{2})(?:$|[T ])/;
const ZONE = /(?:z|[+-]\d{2}:?\d{2})$/i;
/** As databases and people write it: `12:00:00 UTC`, `12:00:00 +01:00`. */
const SPACED_ZONE = /(?<=:\d{2}(?:\.\d+)?) (?:UTC|GMT|([+-]\d{2}(?::?\d{2})?))$/i;
/** ISO 8601 permits it, databases write it (`+00`), and the engine does not read it. */
const HOURS_ALONE = /[+-]\d{2}$/;
/** As all times of the years 0 to 9999 are written by the engine, which gives others a sign. */
const ISO_LENGTH = 24;

/** Epoch milliseconds of an ISO 8601 day or time. Without an offset it is UTC, whatever zone the machine is in. Null: it is none, the calendar has no such day, or RFC 3339 cannot write it. */
export function momentOf(text: string): number | null {
  const plain = plainMidnight(text);
  if (plain !== null) return plain;
  const [, day] = MOMENT.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return null;
  const time = text.slice(day.length).replace(SPACED_ZONE, (_, offset: string | undefined) => offset ?? 'Z').replace(' ', 'T');
  const missing = time === '' || ZONE.test(time) ? '' : HOURS_ALONE.test(time) ? ':00' : 'Z';
  const ms = Date.parse(`${day}${time}${missing}`);
  return Number.isNaN(ms) || new Date(ms).toISOString().length !== ISO_LENGTH ? null : ms;
}

/** The engine takes the 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  if (plainDay(day) !== null) return true;
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

function twoDigits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at) - ZERO, text.charCodeAt(at + 1) - ZERO];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}
