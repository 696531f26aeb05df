/**
 * The families of headers by which services state their quotas, as data. `X-RateLimit-*` and its spellings state one window;
 * others name several (Kong's `X-RateLimit-Remaining-Minute`, Apollo's and Lusha's `x-hourly-requests-left`, People Data Labs'
 * `{'minute': 99, 'day': 900}`, the lists of the IETF drafts). Pure.
 */
import { parseHttpDate } from '../client/retry-after.ts';
import { goDurationMs } from './go-duration.ts';
import { formOfReset, type Headers } from './rate-headers.ts';
import { ietfQuotas, LONGEST } from './ietf-quotas.ts';

const SECOND_MS = 1_000;
export const PERIODS_MS = { second: SECOND_MS, minute: 60_000, hour: 3_600_000, day: 86_400_000, month: 30 * 86_400_000 } as const;
const MINUTE_MS = PERIODS_MS.minute;

/** How families name a period. */
const WORDS: ReadonlyMap<string, number> = new Map(Object.entries({
  second: SECOND_MS, sec: SECOND_MS, secondly: SECOND_MS, minute: PERIODS_MS.minute, min: PERIODS_MS.minute, minutely: PERIODS_MS.minute, hour: PERIODS_MS.hour, hourly: PERIODS_MS.hour, '60-minute': PERIODS_MS.hour,
  day: PERIODS_MS.day, daily: PERIODS_MS.day, '24-hour': PERIODS_MS.day, month: PERIODS_MS.month, monthly: PERIODS_MS.month,
}));
const WORD = [...WORDS.keys()].sort((one, other) => other.length - one.length).join('|');

type Part = 'limit' | 'remaining' | 'reset' | 'used';

/** Names of headers that state one window. The first family that an answer has counts. */
const PLAIN: readonly (Readonly<Partial<Record<Part, string>>> & { readonly isSeconds?: boolean })[] = [
  { limit: 'x-ratelimit-limit', remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' },
  { limit: 'x-rate-limit-limit', remaining: 'x-rate-limit-remaining', reset: 'x-rate-limit-reset' },
  { limit: 'ratelimit-limit', remaining: 'ratelimit-remaining', reset: 'ratelimit-reset', isSeconds: true },
];

/** Names of headers that say which window they are of. `{part}` is limit, remaining or reset. */
const WINDOWED: readonly { readonly name: RegExp; readonly part?: Part }[] = [
  { name: new RegExp(`^x-rate-?limit-(?<part>limit|remaining|reset)-(?:per-)?(?<word>${WORD})$`) },
  { name: new RegExp(`^x-rate-?limit-(?:per-)?(?<word>${WORD})-(?<part>limit|remaining|reset)$`) },
  { name: new RegExp(`^ratelimit-(?<part>limit|remaining|reset)-(?<word>${WORD})$`) },
  { name: new RegExp(`^x-rate-limit-(?<word>${WORD})$`), part: 'limit' },
  { name: new RegExp(`^x-(?<word>${WORD})-requests-left$`), part: 'remaining' },
  { name: new RegExp(`^x-(?<word>${WORD})-usage$`), part: 'used' },
];

/** What an answer says of one window that it names. */
export interface WindowReading {
  readonly periodMs: number;
  readonly limit: number | null;
  readonly remaining: number;
  /** Milliseconds from the answer until the window's quota is restored; null: it does not say. */
  readonly resetMs: number | null;
}

export interface QuotaReading {
  /** The minute's window, or the one that has no name, in the names of `X-RateLimit-*`; null: the answer has none. */
  readonly headers: Headers | null;
  /** Its reset is surely in seconds from now. */
  readonly isSeconds: boolean;
  /** All other windows. */
  readonly windows: readonly WindowReading[];
  /** A reset that is no number, date or duration, as it was sent; null: there is none. */
  readonly unreadableReset: string | null;
}

const NOTHING: QuotaReading = { headers: null, isSeconds: false, windows: [], unreadableReset: null };
const SPEAKS_OF_QUOTA = /rate-?limit|-requests-left$|-usage$/;

/** Reads every family. @param headers names in lower case @param nowMs wall clock, for an answer without `Date` */
export function readQuotaHeaders(headers: Headers, nowMs: number): QuotaReading {
  const names = Object.keys(headers).filter((name) => SPEAKS_OF_QUOTA.test(name));
  if (names.length === 0) return NOTHING;
  const serviceMs = parseHttpDate(one(headers['date']) ?? '', nowMs) ?? nowMs;
  const named = new Map<number, Partial<Record<Part, string>>>();
  const note = (periodMs: number | undefined, part: Part, value: string): void => {
    if (periodMs !== undefined) named.set(periodMs, { ...named.get(periodMs), [part]: value });
  };
  for (const name of names) readWindowed(name, one(headers[name]), note);
  const family = PLAIN.find(({ limit = '', remaining = '', reset = '' }) => [limit, remaining, reset].some((name) => headers[name] !== undefined));
  const plain: Partial<Record<Part, string>> = {};
  for (const part of ['limit', 'remaining', 'reset'] as const) {
    const value = one(headers[family?.[part] ?? '']);
    if (value !== null && !readByName(value, part, note)) plain[part] = part === 'limit' ? firstOfList(value) : value;
  }
  const unreadableReset = [plain, ...named.values()].find(({ reset = '' }) => reset !== '' && formOfReset(reset) === null)?.reset ?? null;
  // A reset that has no name belongs to the window that has one, where there is one only.
  if (named.size === 1 && plain.remaining === undefined && plain.reset !== undefined) for (const parts of named.values()) parts.reset ??= plain.reset;
  const ietf = family?.isSeconds === true || family === undefined ? ietfQuotas(one(headers['ratelimit']), one(headers['ratelimit-policy'])) : [];
  const windows: WindowReading[] = [];
  let main = plain.remaining === undefined && plain.reset === undefined ? null : plain;
  let isSeconds = main !== null && family?.isSeconds === true;
  for (const { periodMs, limit, remaining, resetS } of named.size === 0 && main === null ? ietf : []) {
    if (periodMs === null || periodMs === MINUTE_MS) {
      main = { ...(limit === null ? {} : { limit: String(limit) }), remaining: String(remaining), ...(resetS === null ? {} : { reset: String(resetS) }) };
      isSeconds = true;
    } else windows.push({ periodMs, limit, remaining, resetMs: resetS === null ? null : resetS * 1_000 });
  }
  // What has no name beside windows that have one is the tightest of them.
  if (named.size > 0 && [...named.values()].some(({ remaining, used }) => remaining !== undefined || used !== undefined)) main = null;
  for (const [periodMs, parts] of named) {
    const reading = windowOf(periodMs, parts, serviceMs);
    if (reading === null) continue;
    // Without a reset the quota model learns nothing of how a minute comes back; what was sent within a minute is known.
    if (periodMs !== MINUTE_MS || parts.reset === undefined) windows.push(reading);
    else main = { ...(parts.limit === undefined ? {} : { limit: parts.limit }), remaining: String(reading.remaining), reset: parts.reset };
  }
  return { headers: main === null ? null : canonical(headers, main), isSeconds, windows, unreadableReset };
}

function readWindowed(name: string, value: string | null, note: (periodMs: number | undefined, part: Part, value: string) => void): void {
  if (value === null) return;
  for (const { name: pattern, part } of WINDOWED) {
    const found = pattern.exec(name)?.groups;
    if (found === undefined) continue;
    note(WORDS.get(found['word'] ?? ''), part ?? (found['part'] as Part), value);
    return;
  }
}

/** `{'minute': 99, "day": 900}`: true when it is one. */
function readByName(value: string, part: Part, note: (periodMs: number | undefined, part: Part, value: string) => void): boolean {
  if (!value.startsWith('{')) return false;
  if (value.length > LONGEST) return true;
  for (const [, word = '', number = ''] of value.matchAll(/['"]?([\w-]{1,20})['"]?\s*:\s*['"]?([^,'"}]{1,40})['"]?/g)) note(WORDS.get(word.toLowerCase().replace(/^per[-_]/, '')), part, number.trim());
  return true;
}

/** `10, 10;w=1, 50;w=60`: the first is the limit that counts now (drafts 03 to 06 of the IETF's). */
function firstOfList(value: string): string {
  return /^\s*(\d+)\s*[,;]/.exec(value)?.[1] ?? value;
}

function windowOf(periodMs: number, { limit, remaining, used, reset }: Partial<Record<Part, string>>, serviceMs: number): WindowReading | null {
  const most = whole(limit);
  const left = whole(remaining) ?? (most === null || whole(used) === null ? null : Math.max(0, most - (whole(used) as number)));
  if (left === null || (most !== null && left > most)) return null;
  return { periodMs, limit: most, remaining: left, resetMs: reset === undefined ? null : resetOf(reset, periodMs, serviceMs) };
}

/** A window is over after its period: a delta that would be longer in seconds is in milliseconds. */
function resetOf(text: string, periodMs: number, serviceMs: number): number | null {
  const value = /^\d{1,15}(?:\.\d{1,9})?$/.test(text) ? Number(text) : null;
  const at = value === null ? parseHttpDate(text, serviceMs) : value >= 1e11 ? value : value >= 1e9 ? value * 1_000 : null;
  const ms = at !== null ? at - serviceMs : value === null ? goDurationMs(text) : value * 1_000 <= 1.05 * periodMs + 1_000 ? value * 1_000 : value;
  return ms === null || ms > 1.05 * periodMs + 60_000 ? null : Math.max(0, ms);
}

function canonical(headers: Headers, { limit, remaining, reset }: Partial<Record<Part, string>>): Headers {
  return {
    date: headers['date'],
    ...(limit === undefined ? {} : { 'x-ratelimit-limit': limit }),
    ...(remaining === undefined ? {} : { 'x-ratelimit-remaining': remaining }),
    ...(reset === undefined ? {} : { 'x-ratelimit-reset': reset }),
  };
}

function whole(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text.trim()) ? Number(text) : null;
}

function one(raw: string | string[] | undefined): string | null {
  const text = Array.isArray(raw) ? raw[0] : raw;
  return text === undefined ? null : text.trim();
}
