import { describe, expect, test } from 'vitest';
import type { Moment } from '../support/crash-chain.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { killed, undisturbed } from './crashed-job.ts';

/** `CRASH_SEED=123` repeats a run. */
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);
const ROWS = leads(600, SEED % 1_000);
const JOB = csvJob(ROWS, { concurrency: '8' });

let made: Promise<unknown> | null = null;
const expected = (): Promise<unknown> => (made ??= undisturbed(JOB, ROWS));

/** At a random request or moment of its life each. */
function moments(seed: number, of: readonly Pick<Moment, 'signals' | 'betweenMs'>[]): Moment[] {
  const random = seeded(seed);
  return of.map((signals, i) => (i % 2 === 0 ? { kind: 'requests', more: Math.floor(random() * 200), ...signals } : { kind: 'time', ms: Math.floor(random() * 600), ...signals }));
}

describe(`signals at random moments, answers in 10 ms (CRASH_SEED=${SEED})`, () => {
  const patient = { timeout: 300_000 };

  test('SIGTERM and SIGINT: 75 each time, and nothing is asked for again', patient, async () => {
    const chain = await killed(JOB, await expected(), moments(SEED, [{ signals: ['SIGTERM'] }, { signals: ['SIGINT'] }, { signals: ['SIGINT'] }, { signals: ['SIGTERM'] }]), { latencyMs: 10 });
    expect(chain).toMatchObject({ kills: 0, repeated: 0, bound: 0 });
    expect(chain.stops).toBeGreaterThan(0);
  });

  test('a service that fails: the same, and what it has refused is asked for by the next run', patient, async () => {
    const chain = await killed(JOB, await expected(), moments(SEED + 1, [{ signals: ['SIGTERM'] }, { signals: ['SIGINT'] }]), { latencyMs: 10, faults: true });
    expect(chain).toMatchObject({ kills: 0, repeated: 0, bound: 0 });
  });

  test('a second signal, or SIGKILL, into the drain: no more than was in flight, or not on the disk', patient, async () => {
    const chain = await killed(JOB, await expected(), moments(SEED + 2, [{ signals: ['SIGTERM', 'SIGKILL'], betweenMs: 5 }, { signals: ['SIGTERM', 'SIGINT'], betweenMs: 3 }, { signals: ['SIGINT', 'SIGKILL'], betweenMs: 15 }, { signals: ['SIGINT', 'SIGTERM'] }]), { latencyMs: 10 });
    expect(chain.kills + chain.stops).toBeGreaterThan(0);
  });
});
