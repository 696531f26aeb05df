import { describe, expect, test } from 'vitest';
import { randomMoments } from '../support/crash-chain.ts';
import { SHAPES } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { sampleOf } from '../support/sample.ts';
import { killed, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

const KILLS = 2;

describe(`a run killed at random moments (SEED=${SEED})`, () => {
  // bench/crash.ts has all.
  test.each(
    sampleOf(
      SHAPES.map((shape, i) => ({ ...shape, i })),
      1,
      SEED,
    ),
  )(
    '$name: the same bytes and requests, and nothing durable is asked for again',
    { timeout: 300_000 },
    async ({ rows: { short }, job: make, faults, i }) => {
      const rows = leads(short, SEED % 1_000);
      const job = make(rows);
      const requests = job.flags['steps'] === 'verify' ? short / 1_000 : short * 0.8;
      const moments = randomMoments(4, requests, seeded(SEED + i));
      // Two other kinds of the four for each.
      const chain = await killed(
        job,
        await undisturbed(job, rows),
        [0, 1]
          .map((k) => moments[(i + k * 2 + (SEED % 4)) % 4] ?? moments[0])
          .filter((moment) => moment !== undefined)
          .slice(0, KILLS),
        { latencyMs: 3, faults },
      );
      expect(chain.runs).toBeGreaterThan(0);
    },
  );
});
