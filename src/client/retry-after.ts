/** `Retry-After` (RFC 9110, 10.2.3). Pure: the clock is an argument. */
import { parseHttpDate } from '../util/http-date.ts';

const DELTA = /^[+-]?\d+(?:\.\d+)?$/;

type HeaderValue = string | readonly string[] | undefined;

/**
 * Milliseconds to wait, or null when the header is absent or unreadable. Reads seconds (fractions too) or a date. A date is read against
 * the response's own `Date`, so that a wrong local clock does no harm. A past date is 0. A long wait is never shortened, only kept finite.
 */
export function parseRetryAfter(value: HeaderValue, date: HeaderValue, nowMs: number): number | null {
  const text = first(value);
  if (text === null) return null;
  if (DELTA.test(text)) return clampWait(Number(text) * 1000);
  const serverNow = parseHttpDate(first(date) ?? '', nowMs) ?? nowMs;
  const until = parseHttpDate(text, serverNow);
  return until === null ? null : clampWait(until - serverNow);
}

function clampWait(ms: number): number {
  return Math.max(0, Math.min(Math.round(ms), Number.MAX_SAFE_INTEGER));
}

function first(value: HeaderValue): string | null {
  const text = typeof value === 'string' ? value : value?.[0];
  return text === undefined ? null : text.trim();
}
