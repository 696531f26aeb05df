import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Limiter, AnsweredCall, ThrottledWait } from '../../src/limiter/limiter.ts';
import type { SavedQuota } from '../../src/limiter/saved-quota.ts';
import { PERIODS_MS } from '../../src/util/periods.ts';
import { casesOf, sampleOf } from '../support/sample.ts';
import { mostInAMinute } from './services.ts';
import { isPending, makeLimiter, quotaOf, stopTime } from './virtual.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const fine = (callNumber = 1, headers = {}): AnsweredCall => ({
  callNumber,
  quota: quotaOf(headers),
  throttled: false,
  retryAfterMs: null,
});
const throttled = (retryAfterMs: number | null, headers = {}, callNumber = 1): AnsweredCall => ({
  callNumber,
  quota: quotaOf(headers),
  throttled: true,
  retryAfterMs,
});
const quota = (limit: number, remaining: number, resetS: number): Record<string, string> => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(resetS),
});

/** The reason of a pause that `Retry-After` asked for. */
const ASKED = { cause: 'retry_after', what: 'the end of the pause that the service asked for' };

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
    for (let callNumber = await limiter.take(); callNumber !== 0; callNumber = await limiter.take()) {
      times.push(performance.now());
      limiter.observe(fine(callNumber));
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
      const callNumber = await limiter.take();
      if (callNumber !== 0) served.push(i);
      limiter.observe(fine(callNumber));
    });
    await vi.advanceTimersByTimeAsync(10_000);
    await Promise.all(waits);
    expect(served).toEqual([...Array(50).keys()]);
    await stop(limiter);
  });

  // Many a minute show in two what few show in five.
  const many: readonly (readonly [number, number])[] = [
    [5_000, 2],
    [12_000, 2],
  ];
  it.each([[60, 5] as const, ...sampleOf(many, 1)])(
    'uses %d permits a minute, and never more in any minute, for %d',
    async (rpm, minutes) => {
      const times = await takeAll(makeLimiter(rpm), minutes * 60_000);
      expect(mostInAMinute(times)).toBeLessThanOrEqual(rpm);
      expect(times.filter((at) => at >= 60_000 && at < minutes * 60_000).length).toBeGreaterThanOrEqual((minutes - 1) * rpm * 0.99);
    },
  );

  it('never grants more in any minute, however unevenly it is asked', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(30, 90, 240, 7_000),
        fc.array(fc.integer({ min: 0, max: LONGEST_IDLE_MS }), { minLength: 1, maxLength: 20 }),
        async (rpm, idle) => {
          const waits = (n: number): number => (n % 7 === 0 ? (idle[n % idle.length] ?? 0) : 0);
          expect(mostInAMinute(await takeAll(makeLimiter(rpm), 150_000, waits))).toBeLessThanOrEqual(rpm);
        },
      ),
      { numRuns: casesOf(4, 25) },
    );
  });

  it('goes on at its rate when the wall clock is set back or forward', async () => {
    const limiter = makeLimiter(600);
    let granted = 0;
    const loop = (async () => {
      for (let callNumber = await limiter.take(); callNumber !== 0; callNumber = await limiter.take()) {
        granted++;
        limiter.observe(fine(callNumber));
      }
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

  it('goes on within a second or two when the clock is set back after it was looked at, while a lease is under way', async () => {
    let steps = 0;
    const wallNow = (): number => {
      const now = Date.now();
      // Right after the look; Bottleneck looks a moment later.
      if (steps > 0 && steps-- > 0) vi.setSystemTime(now - 3_600_000);
      return now;
    };
    const limiter = makeLimiter(600, { wallNow });
    let granted = 0;
    const loop = (async () => {
      for (let callNumber = await limiter.take(); callNumber !== 0; callNumber = await limiter.take()) {
        granted++;
        limiter.observe(fine(callNumber));
      }
    })();
    await vi.advanceTimersByTimeAsync(5_000);
    for (let round = 0; round < 3; round++) {
      const before = granted;
      steps = 1;
      await vi.advanceTimersByTimeAsync(10_000);
      expect(steps).toBe(0);
      expect(granted - before).toBeGreaterThanOrEqual(80);
      expect(granted - before).toBeLessThanOrEqual(101);
    }
    steps = 1;
    await vi.advanceTimersByTimeAsync(500);
    await stop(limiter);
    await loop;
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([0, 1, 2, 3, 4])('serves a caller whose permit comes after %d readings of the clock', async (readings) => {
    let behind = 0;
    const monotonicNow = (): number => (behind-- > 0 ? performance.now() - 500 : performance.now());
    const limiter = makeLimiter(60, { monotonicNow });
    const first = limiter.take();
    await vi.advanceTimersByTimeAsync(10);
    limiter.observe(fine(await first));
    // One more permit is leased, and may be used by now.
    await vi.advanceTimersByTimeAsync(1_300);
    behind = readings;
    const next = Promise.resolve(limiter.take());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await isPending(next)).toBe(false);
    await stop(limiter);
  });

  it('has no gate on an unlimited plan', () => {
    const limiter = makeLimiter(null);
    for (let i = 1; i <= 10_000; i++) expect(limiter.take()).toBe(i);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('pauses everything, permits in hand included, for the whole time that a throttled answer asks for', async () => {
    const limiter = makeLimiter(60_000);
    const first = limiter.take();
    await vi.advanceTimersByTimeAsync(10);
    expect(await first).toBe(1);
    limiter.observe(fine(1, quota(60_000, 59_000, 30)));
    const two = Promise.all([limiter.take(), limiter.take()]);
    await vi.advanceTimersByTimeAsync(10);
    expect(await two).toEqual([2, 3]);
    limiter.observe(throttled(7_000, {}, 2));
    const next = limiter.take() as Promise<number>;
    await vi.advanceTimersByTimeAsync(6_999);
    expect(await isPending(next)).toBe(true);
    expect(limiter.pausedMs()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBe(4);
    expect(limiter.pausedMs()).toBe(0);
    await stop(limiter);
  });

  it('takes a flock of 429s for one event, and waits for the longest of them', async () => {
    const events: ThrottledWait[] = [];
    const limiter = makeLimiter(null, { onThrottled: (wait) => events.push(wait) });
    const start = performance.now();
    for (let i = 0; i < 20; i++) void limiter.take();
    for (let i = 0; i < 20; i++) {
      limiter.observe(throttled(i === 7 ? 5_000 : 2_000));
      await vi.advanceTimersByTimeAsync(10);
    }
    // Each of the first seven asks for two seconds from its own time on.
    expect(events.filter(({ isNew }) => isNew)).toEqual([{ untilMs: start + 2_000, isNew: true, ...ASKED }]);
    expect(events.at(-1)).toEqual({ untilMs: start + 5_070, isNew: false, ...ASKED });
    expect(limiter.throttledMs()).toBe(5_070 - 200);
    const next = limiter.take() as Promise<number>;
    await vi.advanceTimersByTimeAsync(5_000 + 70 - 200 - 1);
    expect(await isPending(next)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBe(21);
    limiter.observe(throttled(1_000, {}, 21));
    expect(events.at(-1)).toEqual({ untilMs: start + 6_070, isNew: true, ...ASKED });
    await stop(limiter);
  });

  it('takes those of a flock that come after the wait for the same event, and waits as long as they ask all the same', async () => {
    const events: boolean[] = [];
    const limiter = makeLimiter(null, { onThrottled: ({ isNew }) => events.push(isNew) });
    for (let i = 0; i < 5; i++) void limiter.take();
    limiter.observe(throttled(1_000, {}, 1));
    const next = limiter.take() as Promise<number>;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await next).toBe(6);
    await vi.advanceTimersByTimeAsync(500);
    limiter.observe(throttled(1_000, {}, 2));
    expect(events).toEqual([true, false]);
    const after = limiter.take() as Promise<number>;
    limiter.observe(fine(6));
    await vi.advanceTimersByTimeAsync(999);
    expect(await isPending(after)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await after).toBe(7);
    await stop(limiter);
  });

  it.each([null, 60_000])(
    'lets one call go first after a wait: the others follow once it is answered, and not before (rpm %s)',
    async (rpm) => {
      const limiter = makeLimiter(rpm);
      const first = limiter.take();
      await vi.advanceTimersByTimeAsync(10);
      expect(await first).toBe(1);
      limiter.observe(throttled(2_000));
      const served: number[] = [];
      for (let i = 0; i < 20; i++) void Promise.resolve(limiter.take()).then((callNumber) => served.push(callNumber));
      for (let wait = 1; wait <= 3; wait++) {
        await vi.advanceTimersByTimeAsync(2_000 + 20);
        expect(served).toEqual([2, 3, 4].slice(0, wait));
        // However long its answer takes.
        await vi.advanceTimersByTimeAsync(5_000);
        expect(served).toHaveLength(wait);
        if (wait < 3) limiter.observe(throttled(2_000, {}, wait + 1));
      }
      limiter.observe(fine(4));
      await vi.advanceTimersByTimeAsync(1_000);
      expect(served).toHaveLength(20);
      await stop(limiter);
    },
  );

  it('counts a 429 that comes while a used-up quota is waited for', async () => {
    const events: ThrottledWait[] = [];
    const limiter = makeLimiter(null, { onThrottled: (wait) => events.push(wait) });
    for (let i = 0; i < 3; i++) void limiter.take();
    limiter.observe(fine(1, quota(60, 0, 30)));
    limiter.observe(fine(2, quota(60, 0, 30)));
    // The third may bring other news.
    expect(limiter.pausedMs()).toBe(0);
    limiter.observe(throttled(10_000, {}, 3));
    expect(events).toEqual([{ untilMs: performance.now() + 10_000, isNew: true, ...ASKED }]);
    expect(limiter.throttledMs()).toBe(10_000);
    // Whole seconds may be rounded either way.
    expect(limiter.pausedMs()).toBe(31_000);
    await stop(limiter);
  });

  it.each([
    ['what Retry-After says, before the quota headers', throttled(3_000, { 'x-ratelimit-reset': '50' }), 3_000, ASKED.what],
    ['else what the quota headers say', throttled(null, { 'x-ratelimit-reset': '50' }), 50_000, /^the quota, which is used up/],
    ['else five seconds', throttled(null), 5_000, /^the end of a pause of 5 s: .* did not say for how long$/],
    ['a quarter of a second, where the service says at once', throttled(0), 250, ASKED.what],
    ['longer than a timer can', throttled(30 * 86_400_000), 30 * 86_400_000, ASKED.what],
  ])('waits for %s, and says why', async (_, answer, ms, why) => {
    const waits: ThrottledWait[] = [];
    const limiter = makeLimiter(null, { onThrottled: (wait) => waits.push(wait) });
    void limiter.take();
    limiter.observe(answer);
    expect(limiter.throttledMs()).toBe(ms);
    const next = limiter.take() as Promise<number>;
    for (const said of [limiter.pausedFor(), limiter.waiting()?.what, waits[0]?.what]) expect(said).toMatch(why);
    await vi.advanceTimersByTimeAsync(ms - 1);
    expect(await isPending(next)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBeGreaterThan(1);
    await stop(limiter);
  });

  it('names the window that a refusal shows as used up', async () => {
    const limiter = makeLimiter(null);
    void limiter.take();
    const hour = { 'x-ratelimit-limit-hour': '9', 'x-ratelimit-remaining-hour': '0', 'x-ratelimit-reset-hour': '600' };
    limiter.observe(throttled(null, hour));
    expect([limiter.throttledMs(), limiter.pausedFor()]).toEqual([600_000, 'the quota of 9 requests an hour, which is used up']);
    await stop(limiter);
  });

  it.each([-300_000, 0, 300_000])(
    'waits for each window alone, at a service without a Date whose clock is %d ms ahead',
    async (aheadMs) => {
      const limiter = makeLimiter(60);
      const from = Date.now();
      let [window, used] = [-1, 0];
      let refused = 0;
      const taken: number[] = [];
      const caller = async (): Promise<void> => {
        for (let callNumber = await limiter.take(); callNumber !== 0; callNumber = await limiter.take()) {
          // Windows of the service begin 20 s after the run's minutes.
          const now = Date.now();
          const current = Math.floor((now - from + 40_000) / 60_000);
          if (current !== window) [window, used] = [current, 0];
          const isTaken = used < 60;
          if (isTaken) taken.push(now - from);
          else refused++;
          used = Math.min(60, used + 1);
          const resetAt = from - 40_000 + (current + 1) * 60_000 + aheadMs;
          await new Promise((resolve) => setTimeout(resolve, 40));
          const headers = {
            'x-ratelimit-limit': '60',
            'x-ratelimit-remaining': String(60 - used),
            'x-ratelimit-reset': String(Math.ceil(resetAt / 1_000)),
          };
          limiter.observe({ callNumber, quota: quotaOf(headers), throttled: !isTaken, retryAfterMs: null });
        }
      };
      const callers = Array.from({ length: 8 }, caller);
      await vi.advanceTimersByTimeAsync(10 * 60_000);
      expect(taken.filter((at) => at >= 2 * 60_000).length).toBeGreaterThanOrEqual(7 * 60);
      expect(refused).toBeLessThanOrEqual(aheadMs < 0 ? 2 : 0);
      await stop(limiter);
      await vi.advanceTimersByTimeAsync(1_000);
      await Promise.all(callers);
    },
  );

  it('takes the burst that the headers permit, and stops by itself when what is in flight uses up what is left', async () => {
    const limiter = makeLimiter(600);
    const first = limiter.take();
    await vi.advanceTimersByTimeAsync(20);
    expect(await first).toBe(1);
    const served: number[] = [];
    const takes = Array.from({ length: 20 }, async () => served.push(await limiter.take()));
    await vi.advanceTimersByTimeAsync(5_000);
    // It goes alone, however long its answer takes.
    expect(served).toEqual([]);
    limiter.observe(fine(1, quota(600, 7, 60)));
    await vi.advanceTimersByTimeAsync(90);
    expect(served).toHaveLength(7);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(served).toHaveLength(7);
    // Three came back meanwhile; six are in flight.
    limiter.observe(fine(2, quota(600, 9, 60)));
    await vi.advanceTimersByTimeAsync(90);
    expect(served).toHaveLength(10);
    await stop(limiter);
    await Promise.all(takes);
  });

  it('with a share of the plan uses that, evenly, whatever the headers say is left for all', async () => {
    const times = await takeAll(makeLimiter(1_000, { share: 0.25 }), 180_000);
    expect(mostInAMinute(times)).toBeLessThanOrEqual(250);
    expect(times.filter((at) => at >= 60_000).length).toBeGreaterThanOrEqual(2 * 250 * 0.99);
    const limiter = makeLimiter(1_000, { share: 0.25 });
    const first = limiter.take();
    await vi.advanceTimersByTimeAsync(20);
    const served: number[] = [];
    const takes = Array.from({ length: 20 }, async () => served.push(await limiter.take()));
    limiter.observe(fine(await first, quota(1_000, 31, 60)));
    await vi.advanceTimersByTimeAsync(980);
    expect(served).toHaveLength(4);
    expect(limiter.stated).toMatchObject({ limit: 1_000, remaining: 31 });
    await stop(limiter);
    await Promise.all(takes);
  });

  it('where no burst is permitted, a call waits exactly, from the moment at which the last one has left', async () => {
    let nowMs = 1_000;
    const turns: (() => void)[] = [];
    const restored: SavedQuota = { minute: [], savedAtMs: 0, bursts: [{ periodMs: PERIODS_MS.second, burst: 1, pace: 0.96 }] };
    const options = { monotonicNow: () => nowMs, whenFree: (turn: () => void) => void turns.push(turn), restored };
    const limiter = makeLimiter(null, { ...options, windows: [{ limit: 50, periodMs: PERIODS_MS.second }] });
    const pass = async (ms: number): Promise<void> => {
      nowMs += ms;
      await vi.advanceTimersByTimeAsync(Math.ceil(ms));
    };
    const turn = async (): Promise<void> => {
      for (const one of turns.splice(0)) one();
      await vi.advanceTimersByTimeAsync(0);
    };
    const first = limiter.take();
    await pass(50);
    expect(await first).toBe(1);
    // The thread was busy for 6 ms, so the next call goes 20.83 ms after that.
    nowMs += 6;
    await turn();
    const next = limiter.take() as Promise<number>;
    await pass(20);
    await turn();
    expect(await isPending(next)).toBe(true);
    nowMs += 0.8;
    await turn();
    expect(await isPending(next)).toBe(true);
    nowMs += 0.1;
    await turn();
    expect(await next).toBe(2);
    await stop(limiter);
  });

  it('asks one call how things stand once the stated reset is over', async () => {
    const limiter = makeLimiter(600);
    void limiter.take();
    await vi.advanceTimersByTimeAsync(20);
    limiter.observe(fine(1, quota(600, 0, 20)));
    const next = limiter.take() as Promise<number>;
    const after = limiter.take() as Promise<number>;
    await vi.advanceTimersByTimeAsync(20_990);
    expect(await isPending(next)).toBe(true);
    await vi.advanceTimersByTimeAsync(30);
    expect(await next).toBe(2);
    expect(await isPending(after)).toBe(true);
    limiter.observe(fine(2, quota(600, 599, 60)));
    await vi.advanceTimersByTimeAsync(10);
    expect(await after).toBe(3);
    await stop(limiter);
  });

  it('keeps to the plan in every minute across a stop, and spends what the run before had left of it', async () => {
    const before = makeLimiter(90);
    const first = await takeAll(before, 30_000);
    const spent = before.save();
    await vi.advanceTimersByTimeAsync(2_000);
    const since = performance.now();
    const times = await takeAll(makeLimiter(90, { restored: spent }), 120_000);
    // The first call of a run goes in any case.
    expect(mostInAMinute([...first, ...times])).toBeLessThanOrEqual(90 + 1);
    expect(times.filter((at) => at < since + 60_000).length).toBeGreaterThanOrEqual(85);
  });

  it('takes a clock that was set back since for no time passed at all', async () => {
    const limiter = makeLimiter(60, { restored: { minute: [[Date.now() + 3_600_000, 60]], savedAtMs: Date.now() } });
    expect(await takeAll(limiter, 58_000)).toHaveLength(1);
  });

  it.each([null, 600, 60_000])(
    'waits on where the run before was told "later", whether that was before or after it was stopped; then one call goes first (rpm %s)',
    async (rpm) => {
      const scenario = fc.record({
        waitMs: fc.integer({ min: 1_000, max: 100_000 }),
        stopsFirst: fc.boolean(),
        awayMs: fc.integer({ min: 0, max: 150_000 }),
      });
      await fc.assert(
        fc.asyncProperty(scenario, async ({ waitMs, stopsFirst, awayMs }) => {
          const before = makeLimiter(rpm);
          const first = before.take();
          await vi.advanceTimersByTimeAsync(10);
          const overAt = performance.now() + waitMs;
          if (stopsFirst) await stop(before);
          const leftMs = overAt - performance.now();
          before.observe(throttled(leftMs, {}, await first));
          if (!stopsFirst) await stop(before);
          const spent = before.save();
          expect(JSON.parse(JSON.stringify(spent))).toEqual(spent);
          await vi.advanceTimersByTimeAsync(awayMs);

          const events: ThrottledWait[] = [];
          const limiter = makeLimiter(rpm, { restored: spent, onThrottled: (wait) => events.push(wait) });
          const served: { callNumber: number; at: number }[] = [];
          const takes = Array.from({ length: 5 }, async () => served.push({ callNumber: await limiter.take(), at: performance.now() }));
          await vi.advanceTimersByTimeAsync(waitMs + 61_000);
          expect(served).toHaveLength(1);
          expect(served[0]?.at).toBeGreaterThanOrEqual(overAt);
          // It is no other event.
          expect(events.filter(({ isNew }) => isNew)).toEqual([]);
          expect(limiter.save().later).toBeDefined();
          limiter.observe(fine(served[0]?.callNumber));
          expect(limiter.save().later).toBeUndefined();
          await vi.advanceTimersByTimeAsync(60_000);
          expect(served).toHaveLength(5);
          await stop(limiter);
          await Promise.all(takes);
        }),
        { numRuns: casesOf(4, 20) },
      );
    },
  );

  it('waits no longer than was asked for when the clock was set back since', async () => {
    const limiter = makeLimiter(null, {
      restored: { minute: [], savedAtMs: Date.now(), later: { untilMs: Date.now() + 3_600_000, forMs: 7_000 } },
    });
    const first = limiter.take() as Promise<number>;
    expect(limiter.throttledMs()).toBe(7_000);
    await vi.advanceTimersByTimeAsync(6_999);
    expect(await isPending(first)).toBe(true);
    await vi.advanceTimersByTimeAsync(1);
    expect(await first).toBe(1);
    await stop(limiter);
  });

  it('tells once what resets count, when answers have agreed on it', async () => {
    const units: string[] = [];
    const limiter = makeLimiter(600, { onResetUnit: (unit) => units.push(unit) });
    for (const reset of [60, 57, 54, 51, 48]) {
      const taking = Promise.resolve(limiter.take());
      await vi.advanceTimersByTimeAsync(100);
      limiter.observe(fine(await taking, quota(600, 500, reset)));
      await vi.advanceTimersByTimeAsync(3_000);
    }
    expect(units).toEqual(['in seconds from now']);
    await stop(limiter);
  });

  it('does not stop for a service that says it is unlimited, or that something is left', async () => {
    const limiter = makeLimiter(null);
    void limiter.take();
    void limiter.take();
    limiter.observe(fine(1, quota(0, 0, 60)));
    expect(limiter.take()).toBe(3);
    expect(vi.getTimerCount()).toBe(0);
    limiter.observe(fine(2, quota(600, 300, 60)));
    const next = limiter.take();
    await vi.advanceTimersByTimeAsync(10);
    expect(await next).toBe(4);
    await stop(limiter);
  });

  it('lets go while it waits for room in the last minute', async () => {
    const limiter = makeLimiter(2);
    for (let callNumber = 1; callNumber <= 2; callNumber++) {
      void limiter.take();
      await vi.advanceTimersByTimeAsync(31_000);
      limiter.observe(fine(callNumber));
    }
    void limiter.take();
    const fourth = limiter.take() as Promise<number>;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await isPending(fourth)).toBe(true);
    await stop(limiter);
    expect(await fourth).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('tells everybody who waits when it is stopped, at any moment, and leaves no timer behind', async () => {
    const scenario = fc.record({
      rpm: fc.constantFrom(null, 1, 60, 5_000, 90_000),
      waiters: fc.integer({ min: 0, max: 20 }),
      pauseMs: fc.constantFrom(0, 50, 100_000),
      afterMs: fc.integer({ min: 0, max: 130 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ rpm, waiters, pauseMs, afterMs }) => {
        const limiter = makeLimiter(rpm);
        if (pauseMs > 0) limiter.observe(throttled(pauseMs));
        const answers: number[] = [];
        for (let i = 0; i < waiters; i++) void Promise.resolve(limiter.take()).then((granted) => answers.push(granted));
        await vi.advanceTimersByTimeAsync(afterMs);
        const stopped = Promise.all([limiter.stop(), limiter.stop()]);
        expect(limiter.take()).toBe(0);
        await vi.advanceTimersByTimeAsync(50);
        expect(await isPending(stopped)).toBe(false);
        expect(answers).toHaveLength(waiters);
        expect(vi.getTimerCount()).toBe(0);
        limiter.observe(throttled(1_000));
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: casesOf(15, 100) },
    );
  });
});
