import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AUTO_BOUNDS } from '../../src/pool/adaptive-concurrency.ts';
import { isPending, stopTime } from '../limiter/virtual.ts';
import { casesOf } from '../support/sample.ts';
import { HTTP_500, throttledFor, MISS, OK, advance, pendingFor, REJECTED, testBed, type Answer } from './scripted.ts';

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

const answer: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(OK, MISS, REJECTED) },
  { weight: 2, arbitrary: fc.constant(HTTP_500) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_000 }).map((ms) => throttledFor(ms)) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_000 }).map((ms) => pendingFor(ms)) },
);
const outage = fc.record({ from: fc.nat(60_000), ms: fc.integer({ min: 1, max: 120_000 }), throttling: fc.boolean() });
const scenarios = fc.record({
  concurrency: fc.constantFrom(1, 2, 4, 16, 'auto' as const),
  rpm: fc.constantFrom(null, 6_000),
  lookups: fc.integer({ min: 1, max: 120 }),
  answers: fc.array(fc.tuple(answer, fc.integer({ min: 1, max: 3_000 })), { minLength: 1, maxLength: 60 }),
  outages: fc.array(outage, { maxLength: 3 }),
  drainAt: fc.nat(200_000),
});

type Scenario = typeof scenarios extends fc.Arbitrary<infer T> ? T : never;

function bedFor({ concurrency, rpm, answers, outages }: Scenario): ReturnType<typeof testBed> {
  return testBed(
    (id, attempt, at) => {
      const [result, latencyMs] = answers[(id * 7 + attempt) % answers.length] as [Answer, number];
      const down = outages.find(({ from, ms }) => at >= from && at < from + ms);
      if (down !== undefined) return [down.throttling ? throttledFor(3_000) : HTTP_500, latencyMs];
      // After five minutes or ten attempts every lookup is answered, so that the run ends.
      return [attempt > 10 || at > 300_000 ? OK : result, latencyMs];
    },
    { concurrency, rpm },
  );
}

describe('CallPool before a random service', () => {
  it('settles every lookup exactly once and stays within its concurrency', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        vi.clearAllTimers();
        const bed = bedFor(scenario);
        for (let id = 0; id < scenario.lookups; id++) bed.submit(id);
        for (let minutes = 0; minutes < 240 && bed.settled.size < scenario.lookups; minutes++) await advance(60_000);
        expect(bed.fatal).toEqual([]);
        expect(bed.settled.size).toBe(scenario.lookups);
        expect(bed.mostInFlight).toBeLessThanOrEqual(scenario.concurrency === 'auto' ? AUTO_BOUNDS.max : scenario.concurrency);
        // When the last lookups only fail, the pool cannot tell that the service is up.
        if (!scenario.answers.some(([{ kind }]) => kind === 'retryable')) expect(bed.pool.outage).toBeNull();
        expect(bed.pool.room()).toBeNull();
        await drained(bed);
      }),
      { numRuns: casesOf(20, 60) },
    );
  });

  it('drains at any time: it awaits the calls in flight, sends no other, and leaves no timer', async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        vi.clearAllTimers();
        const bed = bedFor(scenario);
        for (let id = 0; id < scenario.lookups; id++) bed.submit(id);
        await advance(scenario.drainAt);
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
  await advance(3_100);
  expect(await isPending(draining)).toBe(false);
  expect(vi.getTimerCount()).toBe(0);
}
