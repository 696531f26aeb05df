/** Calls that have a permit and are not sent: no request can be made of the lookup, or it is too dear for the limits of the job. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Limiter } from '../../src/limiter/limiter.ts';
import { QuotaRules } from '../../src/limiter/quota-rules.ts';
import { QuotaWindows } from '../../src/limiter/rules/quota-windows.ts';
import { PERIODS_MS } from '../../src/util/periods.ts';
import { answerOf, isPending, makeLimiter, quotaOf, stopTime } from './virtual.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const take = async (limiter: Limiter): Promise<number> => {
  const taken = Promise.resolve(limiter.take());
  await vi.advanceTimersByTimeAsync(20);
  return taken;
};
const answer = (limiter: Limiter, callNumber: number, headers: Readonly<Record<string, string>> = {}, throttled = false): void =>
  limiter.observe({ callNumber, quota: quotaOf(headers), throttled, retryAfterMs: throttled ? 100 : null });

it('a withdrawn call does not end the pause after a 429: the next call is the probe', async () => {
  const limiter = makeLimiter(null);
  answer(limiter, await take(limiter), {}, true);
  await vi.advanceTimersByTimeAsync(300);
  const withdrawn = await take(limiter);
  limiter.withdraw(withdrawn);
  const probe = await take(limiter);
  expect(probe).toBeGreaterThan(withdrawn);
  const next = Promise.resolve(limiter.take());
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await isPending(next)).toBe(true);
  answer(limiter, probe);
  expect(await next).toBeGreaterThan(probe);
  await limiter.stop();
});

it('withdrawn calls give back their permits of the quota that the service states', async () => {
  const limiter = makeLimiter(6_000);
  answer(limiter, await take(limiter), { 'x-ratelimit-limit': '6000', 'x-ratelimit-remaining': '50', 'x-ratelimit-reset': '30' });
  for (let i = 0; i < 3; i++) limiter.withdraw(await take(limiter));
  let sent = 0;
  for (let taken = limiter.take(); ; taken = limiter.take()) {
    const granted = Promise.resolve(taken);
    await vi.advanceTimersByTimeAsync(20);
    if (await isPending(granted)) break;
    sent++;
  }
  expect(sent).toBe(50);
  void limiter.stop();
  await vi.advanceTimersByTimeAsync(50);
});

it('a withdrawn call gives back its permit of a window, and never more than the service has left', () => {
  const rules = new QuotaRules((log, latencies) => [new QuotaWindows([], log, latencies)]);
  const window = { periodMs: PERIODS_MS.day, limit: 100, remaining: 5, resetMs: PERIODS_MS.hour };
  rules.answered({ ...answerOf(rules.sent(0), 10, null), windows: [{ ...window, limit: null }] });
  expect(rules.permits(10).permits).toBe(5);
  const calls = Array.from({ length: 5 }, () => rules.sent(20));
  expect(rules.permits(30).permits).toBe(0);
  for (const callNumber of calls.slice(2)) rules.withdrawn(callNumber, 40);
  expect(rules.permits(50).permits).toBe(3);
  // A later statement has counted neither of them.
  rules.answered({ ...answerOf(calls[0] as number, 60, null), windows: [{ ...window, limit: null, remaining: 4 }] });
  expect(rules.permits(70).permits).toBeLessThanOrEqual(3);
});
