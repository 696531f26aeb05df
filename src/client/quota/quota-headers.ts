/**
 * Reads the quota headers of an answer: the one place that knows their names. `X-RateLimit-*` and its spellings state one window.
 * Others name several: Kong (`X-RateLimit-Remaining-Minute`), Apollo and Lusha (`x-hourly-requests-left`), People Data Labs
 * (`{'minute': 99, 'day': 900}`) and the lists of the IETF drafts. Pure: the local time is an argument.
 */
import { parseHttpDate } from '../../util/http-date.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { ResponseHeaders } from '../types.ts';
import { goDurationMs } from './go-duration.ts';
import { ietfQuotas, LONGEST } from './ietf-quotas.ts';
import type { PlanWindow, QuotaReading, WindowReading } from './quota-reading.ts';
import { readStatedReset } from './stated-reset.ts';

const MINUTE_MS = PERIODS_MS.minute;

/** The names that header families use for a period. */
const PERIOD_OF_NAME: ReadonlyMap<string, number> = new Map(
  Object.entries({
    second: PERIODS_MS.second,
    sec: PERIODS_MS.second,
    secondly: PERIODS_MS.second,
    minute: PERIODS_MS.minute,
    min: PERIODS_MS.minute,
    minutely: PERIODS_MS.minute,
    hour: PERIODS_MS.hour,
    hourly: PERIODS_MS.hour,
    '60-minute': PERIODS_MS.hour,
    day: PERIODS_MS.day,
    daily: PERIODS_MS.day,
    '24-hour': PERIODS_MS.day,
    month: PERIODS_MS.month,
    monthly: PERIODS_MS.month,
  }),
);
const PERIOD_NAME = [...PERIOD_OF_NAME.keys()].sort((one, other) => other.length - one.length).join('|');

type Part = 'limit' | 'remaining' | 'reset' | 'used';

/** Headers that state one window. The first family that an answer has counts. */
const PLAIN: readonly (Readonly<Partial<Record<Part, string>>> & { readonly isSeconds?: boolean })[] = [
  { limit: 'x-ratelimit-limit', remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' },
  { limit: 'x-rate-limit-limit', remaining: 'x-rate-limit-remaining', reset: 'x-rate-limit-reset' },
  { limit: 'ratelimit-limit', remaining: 'ratelimit-remaining', reset: 'ratelimit-reset', isSeconds: true },
];

const PLAIN_NAMES: ReadonlySet<string> = new Set(PLAIN.flatMap(({ limit = '', remaining = '', reset = '' }) => [limit, remaining, reset]));

/** A reset that counts from now, so that the service's time does not matter: a moment in epoch seconds has ten digits. */
const DELTA = /^\d{1,9}$/;

/** Headers whose names say which window they state. */
const WINDOWED: readonly { readonly name: RegExp; readonly part?: Part }[] = [
  { name: new RegExp(`^x-rate-?limit-(?<part>limit|remaining|reset)-(?:per-)?(?<period>${PERIOD_NAME})$`) },
  { name: new RegExp(`^x-rate-?limit-(?:per-)?(?<period>${PERIOD_NAME})-(?<part>limit|remaining|reset)$`) },
  { name: new RegExp(`^ratelimit-(?<part>limit|remaining|reset)-(?<period>${PERIOD_NAME})$`) },
  { name: new RegExp(`^x-rate-limit-(?<period>${PERIOD_NAME})$`), part: 'limit' },
  { name: new RegExp(`^x-(?<period>${PERIOD_NAME})-requests-left$`), part: 'remaining' },
  { name: new RegExp(`^x-(?<period>${PERIOD_NAME})-usage$`), part: 'used' },
];

const UNLIMITED: QuotaReading = { plan: { limit: 0, remaining: null, reset: null }, windows: [], unreadableReset: null };

const QUOTA_HEADER = /rate-?limit|-requests-left$|-usage$/;

/**
 * Reads every family of quota headers; null when the answer has none.
 * @param headers names in lower case
 * @param nowMs epoch milliseconds of the local clock, for an answer without a readable `Date`
 */
export function readQuotaHeaders(headers: ResponseHeaders, nowMs: number): QuotaReading | null {
  // An unlimited plan states this on ten thousand answers a second. A quota that is used up leaves 0.
  if (headers['x-ratelimit-limit'] === '0' && headers['x-ratelimit-remaining'] !== '0')
    return headers['x-ratelimit-remaining'] === undefined ? null : UNLIMITED;
  const names = Object.keys(headers).filter((name) => QUOTA_HEADER.test(name));
  if (names.length === 0) return null;
  const needsServiceTime = names.some((name) => name.includes('reset') && !DELTA.test(firstValue(headers[name]) ?? ''));
  const serviceMs = (needsServiceTime ? parseHttpDate(firstValue(headers['date']) ?? '', nowMs) : null) ?? nowMs;
  const named = new Map<number, Partial<Record<Part, string>>>();
  const note = (periodMs: number | undefined, part: Part, value: string): void => {
    if (periodMs !== undefined) named.set(periodMs, { ...named.get(periodMs), [part]: value });
  };
  for (const name of names) if (!PLAIN_NAMES.has(name)) readWindowed(name, firstValue(headers[name]), note);
  const family = PLAIN.find(({ limit = '', remaining = '', reset = '' }) =>
    [limit, remaining, reset].some((name) => headers[name] !== undefined),
  );
  const plain: Partial<Record<Part, string>> = {};
  for (const part of ['limit', 'remaining', 'reset'] as const) {
    const value = firstValue(headers[family?.[part] ?? '']);
    if (value !== null && !readByName(value, part, note)) plain[part] = part === 'limit' ? firstOfList(value) : value;
  }
  const unreadableReset =
    [plain, ...named.values()].find(({ reset = '' }) => reset !== '' && readStatedReset(reset, serviceMs, false) === null)?.reset ?? null;
  // A reset without a name belongs to the only window that has a name.
  if (named.size === 1 && plain.remaining === undefined && plain.reset !== undefined)
    for (const parts of named.values()) parts.reset ??= plain.reset;
  const ietf =
    family?.isSeconds === true || family === undefined
      ? ietfQuotas(firstValue(headers['ratelimit']), firstValue(headers['ratelimit-policy']))
      : [];
  const windows: WindowReading[] = [];
  let plan = plain.remaining === undefined && plain.reset === undefined ? null : plain;
  let isSeconds = plan !== null && family?.isSeconds === true;
  for (const { periodMs, limit, remaining, resetS } of named.size === 0 && plan === null ? ietf : []) {
    if (periodMs === null || periodMs === MINUTE_MS) {
      plan = {
        ...(limit === null ? {} : { limit: String(limit) }),
        remaining: String(remaining),
        ...(resetS === null ? {} : { reset: String(resetS) }),
      };
      isSeconds = true;
    } else windows.push({ periodMs, limit, remaining, resetMs: resetS === null ? null : resetS * 1_000 });
  }
  // Beside windows with a name, the one without is the tightest of them.
  if (named.size > 0 && [...named.values()].some(({ remaining, used }) => remaining !== undefined || used !== undefined)) plan = null;
  for (const [periodMs, parts] of named) {
    const reading = windowOf(periodMs, parts, serviceMs);
    if (reading === null) continue;
    // A minute without a reset teaches the quota model nothing about refill. Counting the calls of the last minute is enough for it.
    if (periodMs !== MINUTE_MS || parts.reset === undefined) windows.push(reading);
    else plan = { ...(parts.limit === undefined ? {} : { limit: parts.limit }), remaining: String(reading.remaining), reset: parts.reset };
  }
  return { plan: plan === null ? null : planWindow(plan, serviceMs, isSeconds), windows, unreadableReset };
}

function planWindow({ limit, remaining, reset }: Partial<Record<Part, string>>, serviceMs: number, isSeconds: boolean): PlanWindow {
  const most = integer(limit);
  const left = integer(remaining);
  return {
    limit: most === null || most < 0 ? null : most,
    remaining: left === null ? null : Math.max(0, left),
    reset: reset === undefined ? null : readStatedReset(reset, serviceMs, isSeconds),
  };
}

function readWindowed(name: string, value: string | null, note: (periodMs: number | undefined, part: Part, value: string) => void): void {
  if (value === null) return;
  for (const { name: pattern, part } of WINDOWED) {
    const found = pattern.exec(name)?.groups;
    if (found === undefined) continue;
    note(PERIOD_OF_NAME.get(found['period'] ?? ''), part ?? (found['part'] as Part), value);
    return;
  }
}

/** Reads `{'minute': 99, "day": 900}`. Returns whether the value has that form. */
function readByName(value: string, part: Part, note: (periodMs: number | undefined, part: Part, value: string) => void): boolean {
  const values = valuesByPeriod(value);
  for (const [periodMs, number] of values ?? []) note(periodMs, part, number);
  return values !== null;
}

/**
 * The values of `{'minute': 99, "day": 900}` by period, milliseconds; null for a text of another form. JSON, or what Python writes.
 * Names that are no period are left out, and of two the last counts.
 */
export function valuesByPeriod(text: string): ReadonlyMap<number, string> | null {
  if (!text.startsWith('{')) return null;
  const values = new Map<number, string>();
  if (text.length > LONGEST) return values;
  for (const [, name = '', value = ''] of text.matchAll(/['"]?([\w-]{1,20})['"]?\s*:\s*['"]?([^,'"}]{1,40})['"]?/g)) {
    const periodMs = PERIOD_OF_NAME.get(name.toLowerCase().replace(/^per[-_]/, ''));
    if (periodMs !== undefined) values.set(periodMs, value.trim());
  }
  return values;
}

/** `10, 10;w=1, 50;w=60`: the first is the limit that counts now (IETF drafts 03 to 06). */
function firstOfList(value: string): string {
  return /^\s*(\d+)\s*[,;]/.exec(value)?.[1] ?? value;
}

function windowOf(
  periodMs: number,
  { limit, remaining, used, reset }: Partial<Record<Part, string>>,
  serviceMs: number,
): WindowReading | null {
  const most = whole(limit);
  const left = whole(remaining) ?? (most === null || whole(used) === null ? null : Math.max(0, most - (whole(used) as number)));
  if (left === null || (most !== null && left > most)) return null;
  return { periodMs, limit: most, remaining: left, resetMs: reset === undefined ? null : resetOf(reset, periodMs, serviceMs) };
}

/** A window ends after its period at the latest. A delta that is longer than that in seconds is in milliseconds. */
function resetOf(text: string, periodMs: number, serviceMs: number): number | null {
  const value = /^\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Number(text) : null;
  const at = value === null ? parseHttpDate(text, serviceMs) : value >= 1e11 ? value : value >= 1e9 ? value * 1_000 : null;
  const ms =
    at !== null ? at - serviceMs : value === null ? goDurationMs(text) : value * 1_000 <= 1.05 * periodMs + 1_000 ? value * 1_000 : value;
  return ms === null || ms > 1.05 * periodMs + 60_000 ? null : Math.max(0, ms);
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : null;
}

function integer(text: string | undefined): number | null {
  return text !== undefined && /^-?\d{1,15}(\.\d{1,9})?$/.test(text) ? Math.floor(Number(text)) : null;
}

function firstValue(raw: string | string[] | undefined): string | null {
  const text = Array.isArray(raw) ? raw[0] : raw;
  return text === undefined ? null : text.trim();
}
