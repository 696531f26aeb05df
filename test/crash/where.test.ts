import { expect, test } from 'vitest';
import { randomMoments } from '../support/crash-chain.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { SEED } from '../support/seed.ts';
import { killed, undisturbed } from './crashed-job.ts';

test(`a killed run skips the same records as an undisturbed one (SEED=${SEED})`, { timeout: 300_000 }, async () => {
  const rows = leads(900, SEED % 1_000);
  const job = csvJob(rows, { concurrency: '8', 'input.where.note': '{"not":["plain"]}' });
  const expected = await undisturbed(job, rows);
  expect(expected.numbers).toMatchObject({ records: { skipped: rows.filter(({ cells }) => cells[3] === 'plain').length } });
  const chain = await killed(job, expected, randomMoments(2, 500, seeded(SEED)), { latencyMs: 3 });
  expect(chain.kills).toBeGreaterThan(0);
});
