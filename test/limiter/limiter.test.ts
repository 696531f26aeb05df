import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Limiter } from '../../src/limiter/limiter.ts';
import { isPending, makeLimiter, mostInAnyMinute, stopTime } from './virtual.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const FINE = { headers: {}, throttled: false, retryAfterMs: null } as const;
const throttled = (retryAfterMs: number | null, headers = {}): Parameters<Limiter['observe']>[0] => ({ headers, throttled: true, retryAfterMs });

const LONGEST_IDLE_MS = 4_000;

/** Bottleneck needs a few turns of the clock to let go; none of them is long. */
async function stop(limiter: Limiter): Promise<void> {
  const stopping = limiter.stop();
  await vi.advanceTimersByTimeAsync(50);
  expect(await isPending(stopping)).toBe(false);
}

/** Takes as fast as it may for so long, answering each call at once; when each permit was granted. */
async function takeAll(limiter: Limiter, forMs: number, idle: (n: number) => number = () => 0): Promise<number[]> {
  const until = performance.now() + forMs;
  const times: number[] = [];
  const loop = (async () => {
    while (await limiter.take()) {
      times.push(performance.now());
      limiter.observe(FINE);
      const wait = idle(times.length);
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    }
  })();
  await vi.advanceTimersByTimeAsync(until - performance.now());
  await stop(limiter);
  await vi.advanceTimersByTimeAsync(LONGEST_IDLE_MS);
  await loop;
  return times;
}

describe('Limiter', () => {
  it('serves callers in the order they came', async () => {
    const limiter = makeLimiter(600);
    const served: number[] = [];
    const waits = Array.from({ length: 50 }, async (_, i) => {
      if (await limiter.take()) served.push(i);
    });
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(waits);
    expect(served).toEqual([...Array(50).keys()]);
    await stop(limiter);
  });

  it.each([60, 1_000, 5_000, 6_000, 30_000])('uses %d permits a minute, and never more in any minute', async (rpm) => {
    const times = await takeAll(makeLimiter(rpm), 180_000);
    expect(mostInAnyMinute(times)).toBeLessThanOrEqual(rpm);
    expect(times.filter((at) => at >= 60_000 && at < 120_000).length + times.filter((at) => at >= 120_000 && at < 180_000).length).toBeGreaterThanOrEqual(2 * rpm * 0.99);
  });

  it('never grants more in any minute, however unevenly it is asked', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(30, 90, 240, 7_000), fc.array(fc.integer({ min: 0, max: LONGEST_IDLE_MS }), { minLength: 1, maxLength: 20 }), async (rpm, idle) => {
        const waits = (n: number): number => (n % 7 === 0 ? (idle[n % idle.length] ?? 0) : 0);
        expect(mostInAnyMinute(await takeAll(makeLimiter(rpm), 150_000, waits))).toBeLessThanOrEqual(rpm);
      }),
      { numRuns: 25 },
    );
  });

  it('goes on at its rate when the wall clock is set back or forward', async () => {
    const limiter = makeLimiter(600);
    let granted = 0;
    const loop = (async () => {
      while (await limiter.take()) granted++;
    })();
    for (const jump of [-3_600_000, 7_200_000, -40_000]) {
      await vi.advanceTimersByTimeAsync(5_000);
      const before = granted;
      vi.setSystemTime(Date.now() + jump);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(granted - before).toBeGreaterThanOrEqual(45);
      expect(granted - before).toBeLessThanOrEqual(55);
    }
    await stop(limiter);
    await loop;
  });

  it('has no gate on an unlimited plan', () => {
    const limiter = makeLimiter(null);
    for (let i = 0; i < 10_000; i++) expect(limiter.take()).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('pauses everything, permits in hand included, for the whole time that a throttled answer asks for', async () => {
    const limiter = makeLimiter(60_000);
    const first = limiter.take();
    await vi.advanceTimersByTimeAsync(10);
    expect(await first).toBe(true);
    limiter.observe(throttled(7_000));
    const next = Promise.all([limiter.take(), limiter.take()]);
    await vi.advanceTimersByTimeAsync(6_999);
    expect(await isPending(next)).toBe(true);
    expect(limiter.pausedMs()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toEqual([true, true]);
    expect(limiter.pausedMs()).toBe(0);
    await stop(limiter);
  });

  it('takes a flock of 429s for one event, and waits for the longest of them', async () => {
    const events: number[] = [];
    const limiter = makeLimiter(null, { onThrottled: (ms) => events.push(ms) });
    for (let i = 0; i < 20; i++) void limiter.take();
    for (let i = 0; i < 20; i++) {
      limiter.observe(throttled(i === 7 ? 5_000 : 2_000));
      await vi.advanceTimersByTimeAsync(10);
    }
    expect(events).toEqual([2_000]);
    const next = limiter.take() as Promise<boolean>;
    await vi.advanceTimersByTimeAsync(5_000 + 70 - 200 - 1);
    expect(await isPending(next)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBe(true);
    limiter.observe(throttled(1_000));
    expect(events).toEqual([2_000, 1_000]);
    await stop(limiter);
  });

  it('counts a 429 that comes while a used-up quota is waited for', async () => {
    const events: number[] = [];
    const limiter = makeLimiter(null, { onThrottled: (ms) => events.push(ms) });
    void limiter.take();
    void limiter.take();
    limiter.observe({ ...FINE, headers: { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': '30' } });
    expect(limiter.pausedMs()).toBe(30_000);
    limiter.observe(throttled(10_000));
    expect(events).toEqual([10_000]);
    expect(limiter.pausedMs()).toBe(30_000);
    await stop(limiter);
  });

  it.each([
    ['what Retry-After says, before the quota headers', throttled(3_000, { 'x-ratelimit-reset': '50' }), 3_000],
    ['else what the quota headers say', throttled(null, { 'x-ratelimit-reset': '50' }), 50_000],
    ['else five seconds', throttled(null), 5_000],
    ['a quarter of a second, where the service says at once', throttled(0), 250],
    ['longer than a timer can', throttled(30 * 86_400_000), 30 * 86_400_000],
  ])('waits for %s', async (_, answer, ms) => {
    const limiter = makeLimiter(null);
    void limiter.take();
    limiter.observe(answer);
    expect(limiter.pausedMs()).toBe(ms);
    const next = limiter.take() as Promise<boolean>;
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(await isPending(next)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBe(true);
    await stop(limiter);
  });

  it('stops by itself when what is in flight uses up what is left, and goes on as permits trickle back', async () => {
    const limiter = makeLimiter(600);
    for (let i = 0; i < 3; i++) {
      void limiter.take();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    // Two are still in flight and two are left: none for a third. One permit comes back every 100 ms.
    limiter.observe({ ...FINE, headers: { 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '2', 'x-ratelimit-reset': '60' } });
    expect(limiter.pausedMs()).toBe(100);
    const next = limiter.take() as Promise<boolean>;
    await vi.advanceTimersByTimeAsync(99);
    expect(await isPending(next)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBe(true);
    await stop(limiter);
  });

  it('does not stop for a service that says it is unlimited, or that something is left', async () => {
    const limiter = makeLimiter(null);
    void limiter.take();
    void limiter.take();
    limiter.observe({ ...FINE, headers: { 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' } });
    expect(limiter.take()).toBe(true);
    limiter.observe({ ...FINE, headers: { 'x-ratelimit-remaining': '2', 'x-ratelimit-reset': '60' } });
    expect(limiter.take()).toBe(true);
    await stop(limiter);
  });

  it('lets go while it waits for room in the last minute', async () => {
    const limiter = makeLimiter(2);
    void limiter.take();
    await vi.advanceTimersByTimeAsync(100_000);
    void limiter.take();
    void limiter.take();
    const third = limiter.take() as Promise<boolean>;
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await isPending(third)).toBe(true);
    await stop(limiter);
    expect(await third).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('tells everybody who waits when it is stopped, at any moment, and leaves no timer behind', async () => {
    const scenario = fc.record({ rpm: fc.constantFrom(null, 1, 60, 5_000, 90_000), waiters: fc.integer({ min: 0, max: 20 }), pauseMs: fc.constantFrom(0, 50, 100_000), afterMs: fc.integer({ min: 0, max: 130 }) });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ rpm, waiters, pauseMs, afterMs }) => {
        const limiter = makeLimiter(rpm);
        if (pauseMs > 0) limiter.observe(throttled(pauseMs));
        const answers: boolean[] = [];
        for (let i = 0; i < waiters; i++) void Promise.resolve(limiter.take()).then((granted) => answers.push(granted));
        await vi.advanceTimersByTimeAsync(afterMs);
        const stopped = Promise.all([limiter.stop(), limiter.stop()]);
        expect(limiter.take()).toBe(false);
        await vi.advanceTimersByTimeAsync(50);
        expect(await isPending(stopped)).toBe(false);
        expect(answers).toHaveLength(waiters);
        expect(vi.getTimerCount()).toBe(0);
        limiter.observe(throttled(1_000));
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 100 },
    );
  });
});
