import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Limiter, LimiterOptions } from '../../../src/limiter/limiter.ts';
import type { EndedCall } from '../../../src/limiter/quota-rule.ts';
import { LearntBurst } from '../../../src/limiter/rules/learnt-burst.ts';
import type { SavedQuota } from '../../../src/limiter/saved-quota.ts';
import { PERIODS_MS } from '../../../src/util/periods.ts';
import { seeded } from '../../support/leads.ts';
import { sampleOf } from '../../support/sample.ts';
import { Bucket } from '../services.ts';
import { makeLimiter, quotaOf, stopTime } from '../virtual.ts';

const { second, minute } = PERIODS_MS;
const PER_SECOND = 50;

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

/** The ways of a call before and after the decision: the shortest time, and the most that comes on top of it, milliseconds. */
interface Network {
  readonly there: readonly [number, number];
  readonly back: readonly [number, number];
  readonly stall?: readonly [number, number];
}
const NEAR: Network = { there: [2, 0], back: [3, 0] };
const FAR: Network = { there: [10, 1], back: [50, 100] };
const UNEVEN: Network = { there: [10, 40], back: [50, 100] };
/** One call of 500 is held up. */
const STALLS: Network = { there: [2, 0], back: [40, 40], stall: [3, 20] };

interface Log {
  /** When calls were admitted and refused. */
  readonly taken: number[];
  readonly refused: number[];
  stop(): Promise<void>;
}

/** Always asks for more of a bucket that sends no headers. @param retryAfterMs of its refusals; null when they do not say it */
function ask(limiter: Limiter, bucket: Bucket, { there, back, stall }: Network, retryAfterMs: number | null): Log {
  const random = seeded(7);
  const log = { taken: [] as number[], refused: [] as number[] };
  const way = ([least, more]: readonly [number, number]): Promise<void> =>
    new Promise((resolve) => void setTimeout(resolve, least + random() * more));
  const caller = async (): Promise<void> => {
    for (let callNumber = await limiter.take(); callNumber !== 0; callNumber = await limiter.take()) {
      await way(stall !== undefined && random() < 1 / 500 ? stall : there);
      const isTaken = bucket.take(performance.now());
      (isTaken ? log.taken : log.refused).push(performance.now());
      await way(back);
      limiter.observe({ callNumber, quota: null, throttled: !isTaken, retryAfterMs: isTaken ? null : retryAfterMs });
    }
  };
  const all = Promise.all(Array.from({ length: 60 }, caller));
  const stop = async (): Promise<void> => {
    const stopping = limiter.stop();
    await vi.advanceTimersByTimeAsync(second);
    await stopping;
    await all;
  };
  return { ...log, stop };
}

const JOBS: Readonly<Record<string, Partial<LimiterOptions>>> = {
  '--rpm 3000': { rpm: 60 * PER_SECOND },
  '50/second': { windows: [{ limit: PER_SECOND, periodMs: second }] },
};
const limiterOf = (job: string, restored: SavedQuota | null = null): Limiter =>
  makeLimiter(JOBS[job]?.rpm ?? null, { ...JOBS[job], restored });
const bucketOf = (burst: number): Bucket => new Bucket(60 * PER_SECOND, burst);

/** An admitted call, without headers. */
const ANSWER = { plan: null, reading: null, windows: [], throttled: false, waitMs: null, failed: false } as const;

/** The share of the rate that was admitted in a span, and the share of calls that was refused. */
function shares({ taken, refused }: Log, fromMs: number, toMs: number): { readonly used: number; readonly refused: number } {
  const within = (times: readonly number[]): number => times.filter((at) => at >= fromMs && at < toMs).length;
  return { used: within(taken) / ((PER_SECOND * (toMs - fromMs)) / second), refused: within(refused) / Math.max(1, within(taken)) };
}

const MATRIX = Object.keys(JOBS).flatMap((job) =>
  [1, 5, 25, 50].flatMap((burst) => [null, second].map((retryAfterMs) => ({ job, burst, retryAfterMs }))),
);

describe('LearntBurst', () => {
  it.each(sampleOf(MATRIX, 3))(
    'a service without headers is used to 90 %, and refuses under 1 %, after ten seconds ($job, burst $burst, Retry-After $retryAfterMs)',
    async ({ job, burst, retryAfterMs }) => {
      for (const network of burst === 1 ? [NEAR, FAR] : [NEAR, FAR, UNEVEN]) {
        const from = performance.now();
        const log = ask(limiterOf(job), bucketOf(burst), network, retryAfterMs);
        await vi.advanceTimersByTimeAsync(50 * second);
        await log.stop();
        const { used, refused } = shares(log, from + 10 * second, from + 50 * second);
        expect(used).toBeGreaterThanOrEqual(0.9);
        expect(refused).toBeLessThan(0.01);
      }
    },
  );

  it.each(Object.keys(JOBS))(
    'where no burst is permitted, a call of 500 that is held up slows the others down by little (%s)',
    async (job) => {
      const from = performance.now();
      const log = ask(limiterOf(job), bucketOf(1), STALLS, null);
      await vi.advanceTimersByTimeAsync(100 * second);
      await log.stop();
      const { used, refused } = shares(log, from + 40 * second, from + 100 * second);
      expect(used).toBeGreaterThanOrEqual(0.8);
      expect(refused).toBeLessThan(0.01);
    },
  );

  it.each([
    ['--rpm 3000', 1],
    ['50/second', 5],
  ])('the next run uses the burst that this one has learnt, from its start (%s, a burst of %d)', async (job, size) => {
    const bucket = bucketOf(size);
    const first = limiterOf(job);
    const before = ask(first, bucket, FAR, null);
    await vi.advanceTimersByTimeAsync(30 * second);
    const saved = JSON.parse(JSON.stringify(first.save())) as SavedQuota;
    await before.stop();
    expect(saved.bursts?.map(({ burst }) => burst)).toEqual([expect.toSatisfy((burst: number) => burst >= 1 && burst <= size)]);
    const from = performance.now();
    const log = ask(limiterOf(job, saved), bucket, FAR, null);
    await vi.advanceTimersByTimeAsync(20 * second);
    await log.stop();
    expect(log.refused).toEqual([]);
    expect(shares(log, from + second, from + 20 * second).used).toBeGreaterThanOrEqual(0.9);
  });

  it('a pause is not followed by a whole window at once', async () => {
    const from = performance.now();
    const log = ask(limiterOf('50/second'), bucketOf(5), NEAR, 2 * second);
    await vi.advanceTimersByTimeAsync(10 * second);
    await log.stop();
    const later = log.taken.filter((at) => at > from + second);
    for (const at of later) expect(later.filter((other) => other >= at && other < at + 100).length).toBeLessThanOrEqual(4 + 6);
    expect(Math.max(...log.refused)).toBeLessThan(from + second);
  });

  it('calls that arrive unevenly go ever more slowly where no burst is permitted, until hardly any is refused', async () => {
    const from = performance.now();
    const log = ask(limiterOf('--rpm 3000'), bucketOf(1), UNEVEN, second);
    await vi.advanceTimersByTimeAsync(2 * minute);
    await log.stop();
    expect(shares(log, from + minute, from + 2 * minute).refused).toBeLessThan(0.03);
    expect(log.taken.length).toBeGreaterThan(2 * minute * 0.005);
  });
});

describe('LearntBurst beside headers', () => {
  it('a refusal that headers explain teaches no burst', async () => {
    const limiter = makeLimiter(600);
    const first = limiter.take();
    await vi.advanceTimersByTimeAsync(20);
    const quota = quotaOf({ 'x-ratelimit-limit': '600', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '5' });
    limiter.observe({ callNumber: await first, quota, throttled: true, retryAfterMs: second });
    expect(limiter.save().bursts).toBeUndefined();
    await vi.advanceTimersByTimeAsync(10);
    const stopping = limiter.stop();
    await vi.advanceTimersByTimeAsync(50);
    await stopping;
  });
});

describe('the state of LearntBurst', () => {
  const LEARNT = { minute: [], savedAtMs: 0, bursts: [{ periodMs: second, burst: 10, pace: 0.5 }] };
  const REFUSED = { throttled: true, waitMs: second };

  /** A rule and its calls, each answered 20 ms later. The first call has the number 1. */
  function ruleOf(saved: SavedQuota | null = null, periodMs: number = second) {
    const rule = new LearntBurst({ limit: PER_SECOND, periodMs });
    if (saved !== null) rule.restore(saved, 0);
    let sent = 0;
    const send = (sentMs: number): number => {
      rule.sent(++sent, sentMs);
      return sent;
    };
    const end = (callNumber: number, sentMs: number, more: Partial<EndedCall> = {}): void =>
      rule.answered({ ...ANSWER, callNumber, sentMs, nowMs: sentMs + 20, ...more });
    const call = (sentMs: number, more: Partial<EndedCall> = {}): void => end(send(sentMs), sentMs, more);
    const callMany = (count: number): void => {
      for (let i = 0; i < count; i++) call(i * 25);
    };
    return { rule, send, end, call, callMany, learnt: () => rule.save().bursts?.[0] };
  }

  it('calls go at the learnt pace where no burst is permitted, and at 99 % of the rate where one is', () => {
    const one = { ...LEARNT, bursts: [{ periodMs: second, burst: 1, pace: 0.5 }] };
    const { rule, callMany, learnt } = ruleOf(one);
    expect(learnt()?.pace).toBe(0.5);
    rule.sent(1, second);
    expect(rule.permits(second).atMs).toBe(second + 40);
    callMany(999);
    expect(learnt()?.pace).toBeGreaterThan(0.5);
    expect(ruleOf(LEARNT).learnt()).toEqual({ periodMs: second, burst: 10, pace: 0.99 });
  });

  it('the next call keeps its distance from the moment at which a busy thread let the last one leave', () => {
    const { rule } = ruleOf({ ...LEARNT, bursts: [{ periodMs: second, burst: 1, pace: 0.8 }] });
    expect(rule.isExact).toBe(true);
    rule.sent(1, second);
    rule.left(second + 15);
    expect(rule.permits(second + 15).atMs).toBe(second + 40);
    const many = ruleOf(LEARNT);
    expect(many.rule.isExact).toBe(false);
    many.rule.sent(1, second);
    many.rule.left(second + 15);
    expect(many.rule.permits(second + 15).permits).toBeGreaterThanOrEqual(1);
  });

  it('a refusal teaches nothing after a thousand admitted calls; before, it takes off a call at least and leaves half at least', () => {
    const rare = ruleOf(LEARNT);
    rare.callMany(1_000);
    rare.call(100_000, REFUSED);
    expect(rare.learnt()?.burst).toBe(10);
    const paced = ruleOf(LEARNT);
    paced.callMany(998);
    paced.call(100_000, REFUSED);
    // Half of what makes up for a delay of 100 ms.
    expect(paced.learnt()?.burst).toBe(3);
    const together = ruleOf(LEARNT);
    const numbers = Array.from({ length: 21 }, () => together.send(0));
    for (const number of numbers) together.end(number, 0, number === 21 ? REFUSED : {});
    expect(together.learnt()?.burst).toBe(9);
  });

  it.each<[string, boolean, Partial<EndedCall>]>([
    ['asks for a minute', true, { waitMs: minute }],
    ['asks for more than a minute, as a longer window does', false, { waitMs: minute + 1 }],
    ['shows a window that is used up', false, { windows: [{ periodMs: 60 * minute, limit: 9, remaining: 0, resetMs: second }] }],
    ['shows a window with permits', true, { windows: [{ periodMs: 60 * minute, limit: 9, remaining: 1, resetMs: second }] }],
  ])('whether a refusal teaches a burst that %s: %s', (_, teaches, more) => {
    const { call, rule } = ruleOf();
    call(0, { ...REFUSED, ...more });
    expect(rule.limited).toBe(teaches);
  });

  it('a refusal without a time pauses for the period, for a second once calls are admitted, and as others say for a refused probe', () => {
    const { rule, call } = ruleOf(null, minute);
    expect([rule.pauseMs(), ruleOf(null, 100).rule.pauseMs()]).toEqual([minute, second]);
    call(0, REFUSED);
    expect(rule.pauseMs()).toBe(Infinity);
    // No answer of the service.
    call(2 * second, { failed: true });
    expect(rule.pauseMs()).toBe(Infinity);
    call(3 * second);
    expect(rule.pauseMs()).toBe(second);
  });

  it('a call that came too early on its own pauses for a tenth of a second, where no burst is permitted', () => {
    const { rule, callMany } = ruleOf({ ...LEARNT, bursts: [{ periodMs: second, burst: 1, pace: 0.8 }] });
    callMany(19);
    expect(rule.pauseMs()).toBe(second);
    callMany(1);
    expect(rule.pauseMs()).toBe(100);
  });

  it('one call goes at the end of a pause, and the others at the rate', () => {
    const { rule, send, end } = ruleOf();
    const numbers = Array.from({ length: 11 }, () => send(0));
    for (const number of numbers) end(number, 0, number === 11 ? REFUSED : {});
    expect(rule.save().bursts?.[0]?.burst).toBeGreaterThan(1);
    expect(rule.permits(20 + second).permits).toBe(1);
    expect(rule.permits(20 + second + 1.5 * (second / PER_SECOND)).permits).toBe(2);
  });
});
