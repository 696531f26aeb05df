/** Reads the quota headers that a definition declares. Pure: the local time is an argument. */
import type { QuotaReader } from '../../client/answer.ts';
import { headerOf } from '../../client/answer.ts';
import { readQuotaHeaders, valuesByPeriod } from '../../client/quota/quota-headers.ts';
import type { PlanWindow, QuotaReading, WindowReading } from '../../client/quota/quota-reading.ts';
import { believableMs, momentOf, serviceTimeOf, type ServiceTime, type StatedReset } from '../../client/quota/stated-reset.ts';
import type { ResponseHeaders } from '../../client/types.ts';
import { parseHttpDate } from '../../util/http-date.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { ProviderQuota, QuotaHeaders } from '../compiled-provider.ts';

type ResetUnit = QuotaHeaders['resetUnit'];

/** A window as its headers have it. */
interface Stated {
  readonly periodMs: number;
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly reset: StatedReset | null;
  readonly resetMs: number | null;
}

const WHOLE = /^\d{1,15}(?:\.0{1,9})?$/;
const NUMBER = /^\d{1,15}(?:\.\d{1,9})?$/;
/** A window ends after its period at the latest, but for clocks and rounding. */
const latestReset = (periodMs: number): number => 1.05 * periodMs + 60_000;

/**
 * The reader of the headers that the innermost quota declares; of the usual families where none declares any.
 * @param quotas from the innermost out: of a batch, of its operation, of the provider; null where there is none
 */
export function quotaReader(quotas: readonly (ProviderQuota | null)[]): QuotaReader {
  const declared = quotas.find((quota) => quota !== null && quota.headers !== null)?.headers ?? null;
  return declared === null ? readQuotaHeaders : (headers, nowMs) => readDeclared(declared, headers, nowMs);
}

function readDeclared(declared: readonly QuotaHeaders[], headers: ResponseHeaders, nowMs: number): QuotaReading | null {
  const service = serviceTimeOf(headerOf(headers, 'date') ?? null, nowMs);
  const windows = new Map<number, Stated>();
  let unreadableReset: string | null = null;
  for (const one of declared) {
    const stated = one.periodMs === null ? ofJson(one, headers, service) : ofHeaders(one, one.periodMs, headers, service);
    for (const window of stated.windows) if (!windows.has(window.periodMs)) windows.set(window.periodMs, window);
    unreadableReset ??= stated.unreadableReset;
  }
  if (windows.size === 0) return null;
  let plan: PlanWindow | null = null;
  const others: WindowReading[] = [];
  for (const { periodMs, limit, remaining, reset, resetMs } of windows.values()) {
    // A minute without a reset teaches the quota model nothing about refill, as in `readQuotaHeaders`.
    if (periodMs === PERIODS_MS.minute && reset !== null) plan = { limit, remaining, reset };
    else if (remaining !== null && (limit === null || remaining <= limit)) others.push({ periodMs, limit, remaining, resetMs });
  }
  return plan === null && others.length === 0 ? null : { plan, windows: others, unreadableReset };
}

interface Found {
  readonly windows: readonly Stated[];
  readonly unreadableReset: string | null;
}

function ofHeaders(names: QuotaHeaders, periodMs: number, headers: ResponseHeaders, service: ServiceTime): Found {
  const value = (name: string | null): string | null => (name === null ? null : (headerOf(headers, name)?.trim() ?? null));
  const parts = { limit: value(names.limit), remaining: value(names.remaining), used: value(names.used), reset: value(names.reset) };
  return found([[periodMs, parts]], names.resetUnit, service);
}

interface Parts {
  readonly limit: string | null;
  readonly remaining: string | null;
  readonly used: string | null;
  readonly reset: string | null;
}

/** A reset that is no JSON belongs to the only window, or to the shortest: that is the next to be restored. */
function ofJson(names: QuotaHeaders, headers: ResponseHeaders, service: ServiceTime): Found {
  const byPeriod = (name: string | null): ReadonlyMap<number, string> | null =>
    valuesByPeriod((name === null ? undefined : headerOf(headers, name)?.trim()) ?? '');
  const [limit, remaining, used, reset] = [byPeriod(names.limit), byPeriod(names.remaining), byPeriod(names.used), byPeriod(names.reset)];
  const periods = new Set([limit, remaining, used].flatMap((values) => [...(values?.keys() ?? [])]));
  const shortest = Math.min(...periods);
  const plain = names.reset === null || reset !== null ? null : (headerOf(headers, names.reset)?.trim() ?? null);
  const windows = [...periods].map((periodMs): readonly [number, Parts] => [
    periodMs,
    {
      limit: limit?.get(periodMs) ?? null,
      remaining: remaining?.get(periodMs) ?? null,
      used: used?.get(periodMs) ?? null,
      reset: reset?.get(periodMs) ?? (periodMs === shortest ? plain : null),
    },
  ]);
  return found(windows, names.resetUnit, service);
}

function found(windows: readonly (readonly [periodMs: number, parts: Parts])[], unit: ResetUnit, service: ServiceTime): Found {
  let unreadableReset: string | null = null;
  const stated = windows.flatMap(([periodMs, parts]): Stated[] => {
    const limit = whole(parts.limit);
    const used = whole(parts.used);
    const remaining = whole(parts.remaining) ?? (limit === null || used === null ? null : Math.max(0, limit - used));
    if (limit === null && remaining === null) return [];
    const reset = parts.reset === null ? null : readReset(parts.reset, unit, service);
    if (parts.reset !== null && reset === null) unreadableReset ??= parts.reset.slice(0, 200);
    const ms = reset === null ? null : reset.form === 'delta' ? reset.value * 1_000 : reset.inMs;
    return [{ periodMs, limit, remaining, reset, resetMs: ms === null || ms > latestReset(periodMs) ? null : ms }];
  });
  return { windows: stated, unreadableReset };
}

function readReset(text: string, unit: ResetUnit, service: ServiceTime): StatedReset | null {
  if (unit === 'date') {
    const atMs = parseHttpDate(text, service.nowMs);
    return atMs === null ? null : momentOf('date', atMs, service);
  }
  if (!NUMBER.test(text)) return null;
  const value = Number(text);
  switch (unit) {
    case 'seconds':
      return { form: 'delta', value, unit: 'seconds' };
    case 'milliseconds':
      return { form: 'duration', inMs: believableMs(value), slackMs: 0 };
    case 'epoch-seconds':
      return momentOf('epoch seconds', value * 1_000, service);
    case 'epoch-milliseconds':
      return momentOf('epoch milliseconds', value, service);
    default:
      return unit satisfies never;
  }
}

function whole(text: string | null): number | null {
  return text !== null && WHOLE.test(text) ? Number(text) : null;
}
