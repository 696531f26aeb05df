import { describe, expect, test } from 'vitest';
import type { Moment } from '../support/crash-chain.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { killed, undisturbed } from './crashed-job.ts';
import { sampleOf } from '../support/sample.ts';
import { SEED } from '../support/seed.ts';

const ROWS = leads(600, SEED % 1_000);
const JOB = csvJob(ROWS, { concurrency: '8' });

let made: Promise<unknown> | null = null;
const expected = (): Promise<unknown> => (made ??= undisturbed(JOB, ROWS));

/** A random request or moment for each. */
function moments(seed: number, of: readonly Pick<Moment, 'signals' | 'betweenMs'>[]): Moment[] {
  const random = seeded(seed);
  return of.map((signals, i) =>
    i % 2 === 0
      ? { kind: 'requests', more: Math.floor(random() * 200), ...signals }
      : { kind: 'time', ms: Math.floor(random() * 600), ...signals },
  );
}

describe(`a run that gets signals at random moments (SEED=${SEED})`, () => {
  const longTimeout = { timeout: 300_000 };

  test('ends with 75 on each SIGTERM and SIGINT, and asks for nothing again', longTimeout, async () => {
    const chain = await killed(
      JOB,
      await expected(),
      moments(SEED, sampleOf([{ signals: ['SIGTERM'] }, { signals: ['SIGINT'] }, { signals: ['SIGINT'] }, { signals: ['SIGTERM'] }], 2)),
      { latencyMs: 10 },
    );
    expect(chain).toMatchObject({ kills: 0, repeated: 0, bound: 0 });
    expect(chain.stops).toBeGreaterThan(0);
  });

  test('gives the same result with a faulty service, and the next run asks for refused lookups', longTimeout, async () => {
    const chain = await killed(JOB, await expected(), moments(SEED + 1, [{ signals: ['SIGTERM'] }, { signals: ['SIGINT'] }]), {
      latencyMs: 10,
      faults: true,
    });
    expect(chain).toMatchObject({ kills: 0, repeated: 0, bound: 0 });
  });

  test(
    'repeats only requests in flight and answers not yet durable after a second signal, or SIGKILL, during the drain',
    longTimeout,
    async () => {
      const chain = await killed(
        JOB,
        await expected(),
        moments(
          SEED + 2,
          sampleOf(
            [
              { signals: ['SIGTERM', 'SIGKILL'], betweenMs: 5 },
              { signals: ['SIGTERM', 'SIGINT'], betweenMs: 3 },
              { signals: ['SIGINT', 'SIGKILL'], betweenMs: 15 },
              { signals: ['SIGINT', 'SIGTERM'] },
            ],
            2,
          ),
        ),
        { latencyMs: 10 },
      );
      expect(chain.kills + chain.stops).toBeGreaterThan(0);
    },
  );
});
