/** `Retry-After` (RFC 9110, 10.2.3). Pure: the clock is an argument. */
import { parseEpoch, parseHttpDate } from '../util/http-date.ts';

const DELTA = /^[+-]?\d+(?:\.\d+)?$/;

type HeaderValue = string | readonly string[] | undefined;

/**
 * Milliseconds to wait, or null when the header is absent or unreadable. Reads seconds (fractions too), a date, or from 1e9 on an epoch. A
 * time is read against the response's own `Date`, so that a wrong local clock does no harm. A past time is 0. A long wait is never
 * shortened, only kept finite.
 */
export function parseRetryAfter(value: HeaderValue, date: HeaderValue, nowMs: number): number | null {
  const text = first(value);
  if (text === null) return null;
  const number = DELTA.test(text) ? Number(text) : null;
  const epochMs = number === null ? null : parseEpoch(number);
  if (number !== null && epochMs === null) return clampWait(number * 1_000);
  const serverNow = parseHttpDate(first(date) ?? '', nowMs) ?? nowMs;
  const until = epochMs ?? parseHttpDate(text, serverNow);
  return until === null ? null : clampWait(until - serverNow);
}

function clampWait(ms: number): number {
  return Math.max(0, Math.min(Math.round(ms), Number.MAX_SAFE_INTEGER));
}

function first(value: HeaderValue): string | null {
  const text = typeof value === 'string' ? value : value?.[0];
  return text === undefined ? null : text.trim();
}
