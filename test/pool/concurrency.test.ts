/** The dial in its place: with the slots that it sets, in front of a limiter that paces, in virtual time. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AUTO_BOUNDS } from '../../src/pool/adaptive-concurrency.ts';
import { stopTime } from '../limiter/virtual.ts';
import { DOWN, GONE, later, meta, OK, pass, readAll, testBed, type Answer, type Bed } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const MINUTE = 60_000;
const ENDLESS = 10_000_000;

/** A token bucket of a minute's permits that fills evenly, and its answers. */
class Bucket {
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
      return later(1_000);
    }
    this.#tokens--;
    const headers = { 'x-ratelimit-limit': String(this.#rpm), 'x-ratelimit-remaining': String(Math.floor(this.#tokens)), 'x-ratelimit-reset': String(Math.ceil(((this.#rpm - this.#tokens) * 60) / this.#rpm)) };
    return { ...OK, meta: { ...meta(200), headers } };
  }
}

const sentBetween = (bed: Bed, from: number, to: number): number => bed.sent.filter(({ at }) => at >= from && at < to).length;

describe('concurrency: auto', () => {
  it('keeps the quota used while the service slows from 50 ms to 6 s, and when it recovers', async () => {
    // As many calls in flight as a plan of 5,000 has at 3 s, for half the calls.
    const rpm = 2_500;
    const bucket = new Bucket(rpm);
    const bed = testBed((_, __, at) => [bucket.answer(at), at >= 2 * MINUTE && at < 5 * MINUTE ? 6_000 : 50], { concurrency: 'auto', rpm });
    void readAll(bed, ENDLESS);
    await pass(2 * MINUTE);
    expect(sentBetween(bed, MINUTE, 2 * MINUTE)).toBeGreaterThanOrEqual(rpm * 0.99);
    bed.most = 0;
    await pass(3 * MINUTE);
    expect(sentBetween(bed, 3 * MINUTE, 5 * MINUTE)).toBeGreaterThanOrEqual(2 * rpm * 0.99);
    expect(bed.most).toBeGreaterThanOrEqual(250);
    await pass(MINUTE);
    expect(sentBetween(bed, 5 * MINUTE, 6 * MINUTE)).toBeGreaterThanOrEqual(rpm * 0.99);
    expect(bucket.refused).toBe(0);
    await stopped(bed);
  });

  it('opens sixteen connections in the first moment, and others as they prove useful', async () => {
    const bed = testBed(() => [OK, 200], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await pass(199);
    expect(bed.most).toBe(16);
    await pass(401);
    expect(bed.most).toBeLessThanOrEqual(32);
    await pass(MINUTE);
    expect(bed.most).toBe(AUTO_BOUNDS.max);
    await stopped(bed);
  });

  it('goes back where more at once only queue', async () => {
    const bed: Bed = testBed(() => [OK, 20 * Math.max(1, bed.inFlight / 8)], { concurrency: 'auto' });
    for (let id = 0; id < 5_000; id++) bed.submit(id);
    await pass(10 * MINUTE);
    expect(bed.settled.size).toBe(5_000);
    expect(bed.most).toBeLessThanOrEqual(32);
    expect(bed.pool.concurrency).toBeLessThanOrEqual(24);
  });

  it('is not changed by any number of 429s: neither lowered, nor raised', async () => {
    const trace = async (throttling: boolean): Promise<number[]> => {
      // Once in four times, each for a while: those that come back are as before.
      const bed = testBed((id, attempt) => [throttling && id % 4 === 0 && attempt <= 3 ? later(40) : OK, 20], { concurrency: 'auto' });
      for (let id = 0; id < 4_000; id++) bed.submit(id);
      const seen = new Set([bed.pool.concurrency]);
      for (let ms = 0; ms < 20 * MINUTE && bed.settled.size < 4_000; ms += 100) {
        await pass(100);
        seen.add(bed.pool.concurrency);
      }
      expect(bed.settled.size).toBe(4_000);
      return [...seen];
    };
    // Without them it grows; with them it has fewer in flight than it might, so it is never lowered, nor needs to be raised.
    expect(Math.max(...(await trace(false)))).toBeGreaterThan(64);
    expect(await trace(true)).toEqual([AUTO_BOUNDS.start]);
  });

  it('is lowered by failures, while others are answered', async () => {
    const bed = testBed((id) => [id % 4 === 0 ? DOWN : OK, 20], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await pass(MINUTE);
    expect(bed.events).not.toContain('open');
    expect(bed.pool.concurrency).toBe(AUTO_BOUNDS.min);
    await stopped(bed);
  });

  it('begins slowly again when the service is back from an outage', async () => {
    const bed = testBed((_, __, at) => [at >= 30_000 && at < 50_000 ? GONE : OK, 400], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await pass(30_000);
    expect(bed.pool.concurrency).toBe(AUTO_BOUNDS.max);
    await pass(20_000);
    expect(bed.pool.outage).not.toBeNull();
    bed.most = 0;
    for (let ms = 0; bed.pool.outage !== null && ms < MINUTE; ms += 10) await pass(10);
    await pass(400);
    expect(bed.most).toBe(AUTO_BOUNDS.start);
    await pass(30_000);
    expect(bed.pool.concurrency).toBe(AUTO_BOUNDS.max);
    await stopped(bed);
  });
});

describe('an unlimited plan', () => {
  it('has no pacing: 10,000 requests a second of 50 ms each', async () => {
    const bed = testBed(() => [OK, 50], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await pass(10_000);
    expect(sentBetween(bed, 8_000, 9_000)).toBeGreaterThanOrEqual(10_000);
    await stopped(bed);
  });

  it('is paced from the moment that headers ask for it', async () => {
    const PER_MINUTE = 600;
    const bucket = new Bucket(PER_MINUTE);
    const bed = testBed((_, __, at) => [at < 10_000 ? OK : bucket.answer(at), 50], { concurrency: 'auto' });
    void readAll(bed, ENDLESS);
    await pass(10_000);
    expect(sentBetween(bed, 9_000, 10_000)).toBeGreaterThanOrEqual(10_000);
    await pass(3 * MINUTE);
    // What was on its way when the headers came may be refused, and nothing after that.
    expect(bucket.refused).toBeLessThanOrEqual(AUTO_BOUNDS.max);
    expect(sentBetween(bed, 10_000 + MINUTE, 10_000 + 3 * MINUTE)).toBeGreaterThanOrEqual(2 * PER_MINUTE * 0.95);
    expect(sentBetween(bed, 10_000 + MINUTE, 10_000 + 3 * MINUTE)).toBeLessThanOrEqual(3 * PER_MINUTE);
    await stopped(bed);
  });
});

async function stopped(bed: Bed): Promise<void> {
  expect(bed.fatal).toEqual([]);
  void bed.pool.drain();
  await pass(MINUTE);
  expect(bed.inFlight).toBe(0);
  expect(vi.getTimerCount()).toBe(0);
}
