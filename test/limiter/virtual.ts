/** Helpers for tests that run in virtual time. */
import { vi } from 'vitest';
import { readQuotaHeaders } from '../../src/client/quota/quota-headers.ts';
import type { PlanWindow, QuotaReading } from '../../src/client/quota/quota-reading.ts';
import type { RateReading } from '../../src/limiter/inference/rate-reading.ts';
import { Limiter, type LimiterOptions } from '../../src/limiter/limiter.ts';
import { QuotaRules, type Answer } from '../../src/limiter/quota-rules.ts';
import { QuotaModel } from '../../src/limiter/rules/quota-model.ts';

/** Timers and clocks stand still until a test moves them. */
export function stopTime(): void {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
    now: Date.UTC(2036, 6, 15, 12),
  });
}

export function makeLimiter(rpm: number | null, more: Partial<LimiterOptions> = {}): Limiter {
  return new Limiter({ rpm, monotonicNow: () => performance.now(), wallNow: Date.now, ...more });
}

/** Tells whether a promise has settled, without waiting for it. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol('open');
  return (await Promise.race([promise, Promise.resolve(open)])) === open;
}

/** The headers as the client reads them. */
export function quotaOf(headers: Readonly<Record<string, string | string[]>>): QuotaReading | null {
  return readQuotaHeaders(headers, Date.now());
}

/** The window of the plan that the headers state, for tests that skip the limiter. */
export function planOf(headers: Readonly<Record<string, string | string[]>>, nowMs = 0): PlanWindow {
  return readQuotaHeaders(headers, nowMs)?.plan ?? { limit: null, remaining: null, reset: null };
}

/** The quota model of a plan with its log, for tests that skip the limiter. @param rpm requests a minute; null: unlimited */
export function modelOf(rpm: number | null): QuotaRules {
  return new QuotaRules((log, latencies) => [new QuotaModel(rpm, log, latencies)]);
}

/** The end of a call. @param waitMs the wait that a throttled answer asks for */
export function answerOf(
  callNumber: number,
  nowMs: number,
  reading: RateReading | null,
  throttled = false,
  waitMs: number | null = null,
  failed = false,
): Answer {
  return { callNumber, nowMs, reading, throttled, waitMs, failed, plan: null, windows: [] };
}
