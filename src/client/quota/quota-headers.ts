/**
 * Reads the quota headers of an answer: the one place that knows their names. `X-RateLimit-*` and its spellings state one window.
 * Others name several: Kong (`X-RateLimit-Remaining-Minute`), Apollo and Lusha (`x-hourly-requests-left`), People Data Labs
 * (`{'minute': 99, 'day': 900}`) and the lists of the IETF drafts. Pure: the local time is an argument.
 */
import { PERIODS_MS } from '../../util/periods.ts';
import type { ResponseHeaders } from '../types.ts';
import { ietfQuotas, LONGEST } from './ietf-quotas.ts';
import type { PlanWindow, QuotaReading, WindowReading } from './quota-reading.ts';
import { readStatedReset, serviceTimeOf, type ServiceTime } from './stated-reset.ts';
import { countOf, isNegative, readWindows, type WindowsByPeriod, type WindowTexts } from './window-reading.ts';

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

const PLAIN_VALUES = ['limit', 'remaining', 'reset'] as const;

interface Family extends Readonly<Record<(typeof PLAIN_VALUES)[number], string>> {
  /** The family's definition says that resets are seconds. */
  readonly isSeconds?: boolean;
}

/** Headers that state one window. The first family that an answer has counts. */
const PLAIN: readonly Family[] = [
  { limit: 'x-ratelimit-limit', remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' },
  { limit: 'x-rate-limit-limit', remaining: 'x-rate-limit-remaining', reset: 'x-rate-limit-reset' },
  { limit: 'ratelimit-limit', remaining: 'ratelimit-remaining', reset: 'ratelimit-reset', isSeconds: true },
];

const PLAIN_NAMES: ReadonlySet<string> = new Set(PLAIN.flatMap(({ limit, remaining, reset }) => [limit, remaining, reset]));

/** A reset that counts from now, so that the service's time does not matter: a moment in epoch seconds has ten digits. */
const DELTA = /^\d{1,9}$/;

/** Headers whose names say which window they state. */
const WINDOWED: readonly { readonly name: RegExp; readonly part?: keyof WindowTexts }[] = [
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
  const stated = textsOf(headers, names);
  const needsServiceTime = names.some((name) => name.includes('reset') && !DELTA.test(firstValue(headers[name]) ?? ''));
  const service = needsServiceTime ? serviceTimeOf(firstValue(headers['date']), nowMs) : { nowMs, isService: true };
  const all = [stated.plain, ...stated.named.values()];
  const negative = negativeOf(all);
  return {
    ...readingOf(stated, headers, service),
    unreadableReset: all.find(({ reset }) => reset !== undefined && isUnreadable(reset, service))?.reset ?? null,
    ...(negative === null ? {} : { negative }),
  };
}

/** The quotas of an answer as texts. */
interface Texts {
  readonly family: Family | undefined;
  /** The window without a name, as that family states it. */
  readonly plain: WindowTexts;
  /** By period, milliseconds. */
  readonly named: WindowsByPeriod;
}

function textsOf(headers: ResponseHeaders, names: readonly string[]): Texts {
  const named: WindowsByPeriod = new Map();
  const note: Note = (periodMs, part, value) => {
    if (periodMs !== undefined) named.set(periodMs, { ...named.get(periodMs), [part]: value });
  };
  for (const name of names) if (!PLAIN_NAMES.has(name)) readWindowed(name, firstValue(headers[name]), note);
  const family = PLAIN.find((one) => PLAIN_VALUES.some((part) => headers[one[part]] !== undefined));
  const plain: WindowTexts = {};
  for (const part of PLAIN_VALUES) {
    const value = family === undefined ? null : firstValue(headers[family[part]]);
    if (value !== null && !readByName(value, part, note)) plain[part] = part === 'limit' ? firstOfList(value) : value;
  }
  // A reset without a name belongs to the only window that has a name.
  if (named.size === 1 && plain.remaining === undefined && plain.reset !== undefined)
    for (const parts of named.values()) parts.reset ??= plain.reset;
  return { family, plain, named };
}

/** Windows with a name count before the one without, which is the tightest of them, and that before the lists of the IETF drafts. */
function readingOf(
  { family, plain, named }: Texts,
  headers: ResponseHeaders,
  service: ServiceTime,
): Pick<QuotaReading, 'plan' | 'windows'> {
  const isNamed = [...named.values()].some(({ remaining, used }) => remaining !== undefined || used !== undefined);
  if (isNamed) return readWindows(named, (text) => readStatedReset(text, service, false));
  if (plain.remaining !== undefined || plain.reset !== undefined)
    return { plan: planWindow(plain, service, family?.isSeconds === true), windows: [] };
  const isIetf = named.size === 0 && (family === undefined || family.isSeconds === true);
  return isIetf ? ietfReading(headers, service) : { plan: null, windows: [] };
}

function ietfReading(headers: ResponseHeaders, service: ServiceTime): Pick<QuotaReading, 'plan' | 'windows'> {
  const windows: WindowReading[] = [];
  let plan: PlanWindow | null = null;
  for (const { periodMs, limit, remaining, resetS } of ietfQuotas(
    firstValue(headers['ratelimit']),
    firstValue(headers['ratelimit-policy']),
  )) {
    if (periodMs !== null && periodMs !== MINUTE_MS)
      windows.push({ periodMs, limit, remaining, resetMs: resetS === null ? null : resetS * 1_000 });
    else plan = { limit, remaining, reset: resetS === null ? null : readStatedReset(String(resetS), service, true) };
  }
  return { plan, windows };
}

function planWindow({ limit, remaining, reset }: WindowTexts, service: ServiceTime, isSeconds: boolean): PlanWindow {
  return {
    limit: countOf(limit),
    remaining: countOf(remaining),
    reset: reset === undefined ? null : readStatedReset(reset, service, isSeconds),
  };
}

function isUnreadable(reset: string, service: ServiceTime): boolean {
  return reset !== '' && !isNegative(reset) && readStatedReset(reset, service, false) === null;
}

/** The first negative number, such as `remaining -1`; null without any. */
function negativeOf(all: readonly WindowTexts[]): string | null {
  for (const parts of all) for (const [part, text] of Object.entries(parts)) if (isNegative(text)) return `${part} ${text}`;
  return null;
}

type Note = (periodMs: number | undefined, part: keyof WindowTexts, value: string) => void;

function readWindowed(name: string, value: string | null, note: Note): void {
  if (value === null) return;
  for (const { name: pattern, part } of WINDOWED) {
    const found = pattern.exec(name)?.groups;
    if (found === undefined) continue;
    note(PERIOD_OF_NAME.get(found['period'] ?? ''), part ?? (found['part'] as keyof WindowTexts), value);
    return;
  }
}

/** Reads `{'minute': 99, "day": 900}`. Returns whether the value has that form. */
function readByName(value: string, part: keyof WindowTexts, note: Note): boolean {
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

function firstValue(raw: string | string[] | undefined): string | null {
  const text = Array.isArray(raw) ? raw[0] : raw;
  return text === undefined ? null : text.trim();
}
