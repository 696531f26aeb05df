import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AUTO_BOUNDS } from '../../src/pool/adaptive-concurrency.ts';
import { isPending, stopTime } from '../limiter/virtual.ts';
import { casesOf } from '../support/sample.ts';
import { DOWN, later, MISS, OK, pass, REJECTED, testBed, type Answer } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(OK, MISS, REJECTED) },
  { weight: 2, arbitrary: fc.constant(DOWN) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_000 }).map((ms) => later(ms)) },
);
const outage = fc.record({ from: fc.nat(60_000), ms: fc.integer({ min: 1, max: 120_000 }), throttling: fc.boolean() });
const scenario = fc.record({
  concurrency: fc.constantFrom(1, 2, 4, 16, 'auto' as const),
  rpm: fc.constantFrom(null, 6_000),
  lookups: fc.integer({ min: 1, max: 120 }),
  answers: fc.array(fc.tuple(answer, fc.integer({ min: 1, max: 3_000 })), { minLength: 1, maxLength: 60 }),
  outages: fc.array(outage, { maxLength: 3 }),
  drainAt: fc.nat(200_000),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

function bedFor({ concurrency, rpm, answers, outages }: Scenario): ReturnType<typeof testBed> {
  return testBed(
    (id, attempt, at) => {
      const [said, latencyMs] = answers[(id * 7 + attempt) % answers.length] as [Answer, number];
      const down = outages.find(({ from, ms }) => at >= from && at < from + ms);
      if (down !== undefined) return [down.throttling ? later(3_000) : DOWN, latencyMs];
      // After five minutes or ten attempts everything is answered, so that there is an end.
      return [attempt > 10 || at > 300_000 ? OK : said, latencyMs];
    },
    { concurrency, rpm },
  );
}

describe('CallPool, whatever the service does', () => {
  it('settles every lookup exactly once as soon as the service is back, never with more at once than allowed', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (s) => {
        vi.clearAllTimers();
        const bed = bedFor(s);
        for (let id = 0; id < s.lookups; id++) bed.submit(id);
        for (let minutes = 0; minutes < 240 && bed.settled.size < s.lookups; minutes++) await pass(60_000);
        expect(bed.fatal).toEqual([]);
        expect(bed.settled.size).toBe(s.lookups);
        expect(bed.most).toBeLessThanOrEqual(s.concurrency === 'auto' ? AUTO_BOUNDS.max : s.concurrency);
        // A tail of nothing but failures ends with the service down for all that is known.
        if (!s.answers.some(([{ kind }]) => kind === 'retryable')) expect(bed.pool.outage).toBeNull();
        expect(bed.pool.room()).toBeNull();
        await drained(bed);
      }),
      { numRuns: casesOf(20, 60) },
    );
  });

  it('drains at any moment: what is in flight is awaited, nothing else is sent, no timer is left', async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (s) => {
        vi.clearAllTimers();
        const bed = bedFor(s);
        for (let id = 0; id < s.lookups; id++) bed.submit(id);
        await pass(s.drainAt);
        const room = bed.pool.room();
        const sent = bed.sent.length;
        await drained(bed);
        expect(bed.inFlight).toBe(0);
        expect(bed.sent).toHaveLength(sent);
        expect(bed.fatal).toEqual([]);
        if (room !== null) expect(await isPending(room)).toBe(false);
      }),
      { numRuns: casesOf(20, 60) },
    );
  });
});

async function drained(bed: ReturnType<typeof testBed>): Promise<void> {
  const draining = bed.pool.drain();
  await pass(3_100);
  expect(await isPending(draining)).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
}
