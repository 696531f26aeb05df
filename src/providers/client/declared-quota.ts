/** Reads the quota headers that a definition declares. Pure: the local time is an argument. */
import type { QuotaReader } from '../../client/answer.ts';
import { headerOf } from '../../client/answer.ts';
import { readQuotaHeaders, valuesByPeriod } from '../../client/quota/quota-headers.ts';
import type { PlanWindow, QuotaReading, WindowReading } from '../../client/quota/quota-reading.ts';
import { readWindows, type WindowsByPeriod, type WindowTexts } from '../../client/quota/window-reading.ts';
import { believableMs, momentOf, serviceTimeOf, type ServiceTime, type StatedReset } from '../../client/quota/stated-reset.ts';
import type { ResponseHeaders } from '../../client/types.ts';
import { parseHttpDate } from '../../util/http-date.ts';
import type { ProviderQuota, QuotaHeaders } from '../compiled-provider.ts';

type ResetUnit = QuotaHeaders['resetUnit'];

const NUMBER = /^\d{1,15}(?:\.\d{1,9})?$/;

/**
 * The reader of the headers that the innermost quota declares; of the usual families where none declares any.
 * @param quotas from the innermost out: of a batch, of its operation, of the provider; null where there is none
 */
export function quotaReader(quotas: readonly (ProviderQuota | null)[]): QuotaReader {
  const declared = quotas.find((quota) => quota !== null && quota.headers !== null)?.headers ?? null;
  return declared === null ? readQuotaHeaders : (headers, nowMs) => readDeclared(declared, headers, nowMs);
}

function readDeclared(declared: readonly QuotaHeaders[], headers: ResponseHeaders, nowMs: number): QuotaReading | null {
  const service = serviceTimeOf(valueOf(headers, 'date') ?? null, nowMs);
  let plan: PlanWindow | null = null;
  const others = new Map<number, WindowReading>();
  let unreadableReset: string | null = null;
  for (const one of declared) {
    const stated = one.periodMs === null ? ofJson(one, headers) : new Map([[one.periodMs, textsOf(one, (name) => valueOf(headers, name))]]);
    const found = readWindows(stated, (text) => {
      const reset = readReset(text, one.resetUnit, service);
      if (reset === null) unreadableReset ??= text.slice(0, 200);
      return reset;
    });
    plan ??= found.plan;
    for (const window of found.windows) if (!others.has(window.periodMs)) others.set(window.periodMs, window);
  }
  return plan === null && others.size === 0 ? null : { plan, windows: [...others.values()], unreadableReset };
}

/** The values of one window. @param valueIn of a header */
function textsOf(names: QuotaHeaders, valueIn: (name: string) => string | undefined): WindowTexts {
  const texts: WindowTexts = {};
  for (const part of ['limit', 'remaining', 'used', 'reset'] as const) {
    const name = names[part];
    const value = name === null ? undefined : valueIn(name);
    if (value !== undefined) texts[part] = value;
  }
  return texts;
}

/** A reset that is no JSON belongs to the only window, or to the shortest: that is the next to be restored. */
function ofJson(names: QuotaHeaders, headers: ResponseHeaders): WindowsByPeriod {
  const byPeriod = (name: string | null): ReadonlyMap<number, string> | null =>
    valuesByPeriod((name === null ? undefined : valueOf(headers, name)) ?? '');
  const periods = new Set([names.limit, names.remaining, names.used].flatMap((name) => [...(byPeriod(name)?.keys() ?? [])]));
  const shortest = Math.min(...periods);
  return new Map(
    [...periods].map((periodMs): [number, WindowTexts] => [
      periodMs,
      textsOf(names, (name) => {
        const values = byPeriod(name);
        if (values !== null) return values.get(periodMs);
        return name === names.reset && periodMs === shortest ? valueOf(headers, name) : undefined;
      }),
    ]),
  );
}

function valueOf(headers: ResponseHeaders, name: string): string | undefined {
  return headerOf(headers, name)?.trim();
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
