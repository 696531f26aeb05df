/** A provider that is given up in the middle of a run: the pool is drained, then the step settles what is left. */
import * as fc from '../support/fast-check.ts';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { seeded } from '../../fixtures/generate/random.ts';
import type { BatchItem, ProviderClient } from '../../src/client/provider-client.ts';
import { EXIT, MillraceError } from '../../src/util/errors.ts';
import { CallPool } from '../../src/pool/call-pool.ts';
import { recordStep } from '../../src/processor/record-lookups.ts';
import type { LookupOutcome } from '../../src/lookup/lookup-outcome.ts';
import { makeLimiter, stopTime } from '../limiter/virtual.ts';
import { HTTP_500, MISS, pendingFor, REJECTED, throttledFor } from '../pool/scripted.ts';
import { ITEMS, makeBench } from './bench.ts';

const SCOPES = { email: 1, domain: 2, linkedin_url: 3, phone: 4, name: 5, company: 6 };

beforeEach(stopTime);
afterEach(() => vi.useRealTimers());

type Call = Awaited<ReturnType<ProviderClient['callEnrich']>>;

/** A provider with random answers and latencies. It notes which matches it has answered. */
function randomProvider(seed: number, batch: number): { client: Partial<ProviderClient>; matched: Set<string> } {
  const random = seeded(seed);
  const matched = new Set<string>();
  const later = async <T>(result: T): Promise<T> => {
    await new Promise((resolve) => setTimeout(resolve, random.int(1, 2_000)));
    return result;
  };
  const match = (body: string): Extract<BatchItem, { kind: 'ok' }> => {
    matched.add((JSON.parse(body) as { email: string }).email);
    return ITEMS.person({ name: body }) as Extract<BatchItem, { kind: 'ok' }>;
  };
  const failures = [HTTP_500, throttledFor(500), REJECTED, MISS] as Extract<Call, { kind: 'miss' }>[];
  const answer = (body: string): Call => {
    const dice = random.int(0, 9);
    if (dice < 5) return match(body) as Call;
    return dice === 5 ? (pendingFor(random.int(0, 3_000), 't', 20_000) as Call) : (failures[dice % 4] as Call);
  };
  return {
    matched,
    client: {
      callEnrich: (body) => later(answer(body)),
      batches: {
        size: () => batch,
        call: (_step, bodies) => {
          if (random.int(0, 3) === 0) return later(failures[random.int(0, 2)] as never);
          const item = (body: string): BatchItem =>
            [match, () => ITEMS.miss, () => null, () => ITEMS.broken][random.int(0, 3)]?.(body) ?? null;
          return later({ kind: 'ok', value: bodies.map((body) => item(body ?? '')), meta: ITEMS.miss.meta });
        },
      },
    },
  };
}

it('every record is told once, every answer that came is kept, and nothing else is', async () => {
  let [unavailable, answered] = [0, 0];
  const cases = fc.record({
    seed: fc.nat(),
    batch: fc.constantFrom(1, 3),
    lookups: fc.integer({ min: 1, max: 40 }),
    concurrency: fc.constantFrom(1, 4, 16),
    drainAt: fc.nat(20_000),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, batch, lookups, concurrency, drainAt }) => {
      vi.clearAllTimers();
      const { client, matched } = randomProvider(seed, batch);
      const fatal: unknown[] = [];
      const pool = new CallPool({
        limiter: makeLimiter(null),
        concurrency,
        maxConnections: Infinity,
        rpm: null,
        mayCall: () => true,
        limitReached: () => new MillraceError(EXIT.refused, 'max_calls', 'limits.maxCalls is reached'),
        hasAnswered: true,
        isRetryRun: false,
        unfitIsAnswer: false,
        maxWaitMs: 900_000,
        maxOutageMs: 600_000,
        events: {
          sent: () => undefined,
          rejoined: () => undefined,
          answered: () => undefined,
          retrying: () => undefined,
          wentDown: () => undefined,
          cameBack: () => undefined,
        },
        onFatal: (error) => fatal.push(error),
        monotonicNow: () => performance.now(),
        random: () => 0.5,
      });
      const bench = makeBench();
      Object.assign(bench.context, { pool, client: { ...bench.context.client, ...client } });
      const step = recordStep(bench.context, 'enrich', SCOPES);
      const told = new Map<string, LookupOutcome<unknown>[]>();
      const ask = (key: string): void => {
        told.set(key, []);
        step.ask({ by: 'email', key }, (outcome) => told.get(key)?.push(outcome));
      };
      for (let i = 0; i < lookups; i++) ask(`p${i}@example.com`);
      step.flush();
      await vi.advanceTimersByTimeAsync(drainAt);
      const drained = pool.drain();
      // Records go on meanwhile.
      for (let i = 0; i < 5; i++) ask(`late${i}@example.com`);
      await vi.advanceTimersByTimeAsync(3_000);
      await drained;
      step.giveUp('down');
      ask('after@example.com');
      expect([...told.values()].map((outcomes) => outcomes.length)).toEqual([...told.keys()].map(() => 1));
      expect([step.callsPending, step.lookupsWaiting, fatal]).toEqual([0, 0, []]);
      // Other runs with the same ledger would wait for this one otherwise.
      expect([...bench.claims]).toEqual([]);
      const kept = bench.kept.flat().filter(({ answer }) => answer.kind !== 'asking');
      expect(kept.flatMap(({ key, answer }) => (answer.kind === 'hit' ? [key] : [])).sort()).toEqual([...matched].sort());
      for (const [key, [outcome]] of told) {
        const isLeft = outcome?.kind === 'failed' && outcome.unavailable === true;
        expect(kept.some((entry) => entry.key === key)).toBe(!isLeft);
        if (isLeft) unavailable++;
        else answered++;
      }
    }),
    { numRuns: 150 },
  );
  expect(unavailable).toBeGreaterThan(100);
  expect(answered).toBeGreaterThan(100);
});
