/** Days as most records write them, read without the engine's parser of dates. Pure. */

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

function twoDigits(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at) - ZERO, text.charCodeAt(at + 1) - ZERO];
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : NaN;
}
