/**
 * What a response says about the quota. Pure: local time is passed in, and epochs are read against the response's own
 * `Date`, so that a wrong local clock does no harm.
 */
import { parseHttpDate } from '../client/retry-after.ts';
import { goDurationMs } from './go-duration.ts';

export interface RateReading {
  /** Permits the service says are left; null when it does not say. */
  readonly remaining: number | null;
  /** Milliseconds from the response until the quota is restored; null when it does not say or says nonsense. */
  readonly resetMs: number | null;
  /** How much later than `resetMs` that may be, because the header or the clock it is read against has whole seconds. */
  readonly resetSlackMs: number;
  /** False: a delta of which nobody knows yet what it counts. */
  readonly resetIsSure: boolean;
  /** Permits a window in all; null when it does not say. */
  readonly limit: number | null;
  /** `X-RateLimit-Limit: 0`: the plan is unlimited. */
  readonly unlimited: boolean;
}

/** What a small number in `X-RateLimit-Reset` counts, once that is known. */
export type DeltaUnit = 'seconds' | 'milliseconds';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A plain decimal number; anything else JavaScript would take for one (`0x10`, `1e3`) is none in a header. */
const NUMBER = /^\d{1,15}(\.\d{1,9})?$/;
const WINDOW_MS = 60_000;
/** Deltas up to two windows are seconds, beyond that milliseconds. */
export const LARGEST_DELTA_SECONDS = (2 * WINDOW_MS) / 1_000;
const EPOCH_SECONDS_FROM = 1e9;
const EPOCH_MS_FROM = 1e11;
/** A delta in an unknown unit is taken for milliseconds, but for no fewer than tell it from seconds when the next answer comes. */
const SETTLED_AFTER_MS = 3_000;
/** A reset further away than this is nonsense (a wrong unit or a broken clock) and is not believed. */
const LONGEST_RESET_MS = 32 * 24 * 3_600_000;

/**
 * Reads `X-RateLimit-Limit`, `-Remaining` and `-Reset`.
 * @param headers names in lower case
 * @param localNowMs local wall clock, used only when the response has no readable `Date`
 * @param unit of deltas, when it is pinned (`ResetUnit`)
 */
export function readRateHeaders(headers: Headers, localNowMs: number, unit: DeltaUnit | null = null): RateReading {
  const remaining = integer(headers['x-ratelimit-remaining']);
  const limit = integer(headers['x-ratelimit-limit']);
  const delta = deltaOf(headers) ?? Infinity;
  return {
    remaining: remaining === null ? null : Math.max(0, remaining),
    resetMs: readReset(headers, localNowMs, unit),
    // A delta in milliseconds is exact, and so is a duration with a fraction of a second; each carries its decimals if it has any.
    resetSlackMs: unit === 'milliseconds' || (delta > LARGEST_DELTA_SECONDS && delta < Infinity) || isFineDuration(headers) ? 0 : 1_000,
    resetIsSure: unit !== null || delta === Infinity,
    limit: limit === null || limit < 0 ? null : limit,
    unlimited: limit === 0,
  };
}

/** `X-RateLimit-Reset` as the delta that it is; null when it is something else. */
export function deltaOf(headers: Headers): number | null {
  const raw = one(headers['x-ratelimit-reset']);
  if (raw === null || !NUMBER.test(raw)) return null;
  const value = Number(raw);
  return value < EPOCH_SECONDS_FROM ? value : null;
}

/** What a reset is by its looks. */
export type ResetForm = 'delta' | 'epoch seconds' | 'epoch milliseconds' | 'date' | 'duration';

/** What `X-RateLimit-Reset` is by its looks; null when it says nothing, or nothing that can be read. */
export function resetFormOf(headers: Headers): ResetForm | null {
  const raw = one(headers['x-ratelimit-reset']);
  return raw === null ? null : formOfReset(raw);
}

/** The same of the text of any reset. */
export function formOfReset(raw: string): ResetForm | null {
  if (!NUMBER.test(raw)) return parseHttpDate(raw, 0) !== null ? 'date' : goDurationMs(raw) === null ? null : 'duration';
  const value = Number(raw);
  return value >= EPOCH_MS_FROM ? 'epoch milliseconds' : value >= EPOCH_SECONDS_FROM ? 'epoch seconds' : 'delta';
}

function readReset(headers: Headers, localNowMs: number, unit: DeltaUnit | null): number | null {
  const raw = one(headers['x-ratelimit-reset']);
  if (raw === null || raw === '') return null;
  if (!NUMBER.test(raw)) {
    const nowMs = serviceNow(headers, localNowMs);
    const at = parseHttpDate(raw, nowMs);
    const ms = at === null ? goDurationMs(raw) : at - nowMs;
    return ms === null ? null : believable(ms);
  }
  const value = Number(raw);
  if (value >= EPOCH_MS_FROM) return believable(value - serviceNow(headers, localNowMs));
  if (value >= EPOCH_SECONDS_FROM) return believable(value * 1_000 - serviceNow(headers, localNowMs));
  return believable(unit === 'seconds' || (unit === null && value <= LARGEST_DELTA_SECONDS) ? value * 1_000 : unit === null ? Math.max(value, SETTLED_AFTER_MS) : value);
}

function isFineDuration(headers: Headers): boolean {
  const ms = goDurationMs(one(headers['x-ratelimit-reset']) ?? '');
  return ms !== null && ms % 1_000 !== 0;
}

function believable(ms: number): number | null {
  if (!Number.isFinite(ms) || ms > LONGEST_RESET_MS) return null;
  return Math.max(0, ms);
}

function serviceNow(headers: Headers, localNowMs: number): number {
  return parseHttpDate(one(headers['date']) ?? '', localNowMs) ?? localNowMs;
}

function integer(raw: string | string[] | undefined): number | null {
  const text = one(raw);
  if (text === null || !/^-?\d{1,15}(\.\d{1,9})?$/.test(text)) return null;
  return Math.floor(Number(text));
}

function one(raw: string | string[] | undefined): string | null {
  const text = Array.isArray(raw) ? raw[0] : raw;
  return text === undefined ? null : text.trim();
}
