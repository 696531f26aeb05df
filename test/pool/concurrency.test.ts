/** `AdaptiveConcurrency` in the pool, behind a limiter that paces, in virtual time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AUTO_BOUNDS } from '../../src/pool/adaptive-concurrency.ts';
import { stopTime } from '../limiter/virtual.ts';
import { HTTP_500, HTTP_503, throttledFor, meta, OK, advance, readAll, testBed, type Answer, type Bed } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;
const ENDLESS = 10_000_000;

/** A token bucket of one minute's permits that refills evenly, with the answers that state its quota. */
class TokenBucket {
  refused = 0;
  readonly #rpm: number;
  #tokens: number;
  #filledAt = 0;

  constructor(rpm: number) {
    this.#rpm = rpm;
    this.#tokens = rpm;
  }

  answer(at: number): Answer {
    this.#tokens = Math.min(this.#rpm, this.#tokens + ((at - this.#filledAt) * this.#rpm) / MINUTE);
    this.#filledAt = at;
    if (this.#tokens < 1) {
      this.refused++;
      return throttledFor(1_000);
    }
    this.#tokens--;
    const headers = {
      'x-ratelimit-limit': String(this.#rpm),
      'x-ratelimit-remaining': String(Math.floor(this.#tokens)),
      'x-ratelimit-reset': String(Math.ceil(((this.#rpm - this.#tokens) * 60) / this.#rpm)),
    };
    return { ...OK, meta: meta(200, headers) };
  }
}

const sentBetween = (bed: Bed, from: number, to: number): number => bed.sent.filter(({ at }) => at >= from && at < to).length;

describe('concurrency: auto', () => {
  it('uses the whole quota while the service slows from 50 ms to 6 s, and when it recovers', async () => {
    // At 6 s this needs as many calls in flight as 5,000 a minute at 3 s, with half the calls.
    const rpm = 2_500;
    const bucket = new TokenBucket(rpm);
    const bed = testBed((_, __, at) => [bucket.answer(at), at >= 2 * MINUTE && at < 5 * MINUTE ? 6_000 : 50], { concurrency: 'auto', rpm });
    void readAll(bed, ENDLESS);
    await advance(2 * MINUTE);
    expect(sentBetween(bed, MINUTE, 2 * MINUTE)).toBeGreaterThanOrEqual(rpm * 0.99);
    bed.mostInFlight = 0;
    await advance(3 * MINUTE);
    expect(sentBetween(bed, 3 * MINUTE, 5 * MINUTE)).toBeGreaterThanOrEqual(2 * rpm * 0.99);
    expect(bed.mostInFlight).toBeGreaterThanOrEqual(250);
    await advance(MINUTE);
    expect(sentBetween(bed, 5 * MINUTE, 6 * MINUTE)).toBeGreaterThanOrEqual(rpm * 0.99);
    expect(bucket.refused).toBe(0);
    await drain(bed);
  });

  it('starts with sixteen calls at once and allows more while the latency stays the same', async () => {
    const bed = testBed(() => [OK, 200], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await advance(199);
    expect(bed.mostInFlight).toBe(16);
    await advance(401);
    expect(bed.mostInFlight).toBeLessThanOrEqual(32);
    await advance(10_000);
    expect(bed.mostInFlight).toBe(AUTO_BOUNDS.max);
    await drain(bed);
  });

  it('lowers the limit when further calls only queue at the service', async () => {
    const bed: Bed = testBed(() => [OK, 20 * Math.max(1, bed.inFlight / 8)], { concurrency: 'auto' });
    for (let id = 0; id < 5_000; id++) bed.submit(id);
    await advance(10 * MINUTE);
    expect(bed.settled.size).toBe(5_000);
    expect(bed.mostInFlight).toBeLessThanOrEqual(32);
    expect(bed.pool.concurrency).toBeLessThanOrEqual(24);
  });

  it('neither lowers nor raises the limit for 429s', async () => {
    const limitsOf = async (throttling: boolean): Promise<number[]> => {
      // Every fourth lookup is throttled three times, then answered.
      const bed = testBed((id, attempt) => [throttling && id % 4 === 0 && attempt <= 3 ? throttledFor(40) : OK, 20], {
        concurrency: 'auto',
      });
      for (let id = 0; id < 4_000; id++) bed.submit(id);
      const limits = new Set([bed.pool.concurrency]);
      for (let ms = 0; ms < 20 * MINUTE && bed.settled.size < 4_000; ms += 100) {
        await advance(100);
        limits.add(bed.pool.concurrency);
      }
      expect(bed.settled.size).toBe(4_000);
      return [...limits];
    };
    // Without 429s the limit grows. With them fewer calls are in flight than allowed, so it stays.
    expect(Math.max(...(await limitsOf(false)))).toBeGreaterThan(64);
    expect(await limitsOf(true)).toEqual([AUTO_BOUNDS.start]);
  });

  it('lowers the limit for failures while other calls are answered', async () => {
    const bed = testBed((id) => [id % 4 === 0 ? HTTP_500 : OK, 20], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await advance(20_000);
    expect(bed.events).not.toContain('open');
    expect(bed.pool.concurrency).toBe(AUTO_BOUNDS.min);
    await drain(bed);
  });

  it('starts again with its first limit after an outage', async () => {
    const bed = testBed((_, __, at) => [at >= 15_000 && at < 35_000 ? HTTP_503 : OK, 400], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await advance(15_000);
    expect(bed.pool.concurrency).toBe(AUTO_BOUNDS.max);
    await advance(20_000);
    expect(bed.pool.outage).not.toBeNull();
    bed.mostInFlight = 0;
    for (let ms = 0; bed.pool.outage !== null && ms < MINUTE; ms += 10) await advance(10);
    await advance(400);
    expect(bed.mostInFlight).toBe(AUTO_BOUNDS.start);
    await advance(15_000);
    expect(bed.pool.concurrency).toBe(AUTO_BOUNDS.max);
    await drain(bed);
  });
});

describe('an unlimited plan', () => {
  it('has no pacing and reaches 10,000 requests a second of 50 ms each', async () => {
    const bed = testBed(() => [OK, 50], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await advance(4_000);
    expect(sentBetween(bed, 2_500, 3_500)).toBeGreaterThanOrEqual(10_000);
    await drain(bed);
  });

  it('has pacing as soon as headers state a quota', async () => {
    const PER_MINUTE = 600;
    const bucket = new TokenBucket(PER_MINUTE);
    const bed = testBed((_, __, at) => [at < 3_000 ? OK : bucket.answer(at), 50], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await advance(3_000);
    expect(sentBetween(bed, 2_000, 3_000)).toBeGreaterThanOrEqual(10_000);
    await advance(3 * MINUTE);
    // Only calls that were in flight at the first headers may be refused.
    expect(bucket.refused).toBeLessThanOrEqual(AUTO_BOUNDS.max);
    expect(sentBetween(bed, 3_000 + MINUTE, 3_000 + 3 * MINUTE)).toBeGreaterThanOrEqual(2 * PER_MINUTE * 0.95);
    expect(sentBetween(bed, 3_000 + MINUTE, 3_000 + 3 * MINUTE)).toBeLessThanOrEqual(3 * PER_MINUTE);
    await drain(bed);
  });
});

async function drain(bed: Bed): Promise<void> {
  expect(bed.fatal).toEqual([]);
  void bed.pool.drain();
  await advance(MINUTE);
  expect(bed.inFlight).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
}
