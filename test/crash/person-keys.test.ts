import { expect, test } from 'vitest';
import { randomMoments } from '../support/crash-chain.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads, seeded, toCsv } from '../support/leads.ts';
import { SEED } from '../support/seed.ts';
import { killed, undisturbed } from './crashed-job.ts';

test(`a killed run pays once for people found by name and phone (SEED=${SEED})`, { timeout: 300_000 }, async () => {
  const rows = leads(700, SEED % 1_000).map(({ cells: [name = '', email = ''], key }, i) => ({
    cells: [name, i % 2 === 0 ? '' : email, `works${i % 9}.example`, i % 6 === 0 ? `+1212555${1_000 + (i % 300)}` : ''],
    key,
  }));
  const job = csvJob(rows, { concurrency: '8', 'enrich.by': 'phone,email,name' });
  const csv = toCsv(rows, ['Name', 'Email', 'Website', 'Mobile']);
  const expected = await undisturbed({ ...job, files: { 'in.csv': csv } }, rows);
  const chain = await killed({ ...job, files: { 'in.csv': csv } }, expected, randomMoments(2, 500, seeded(SEED)), { latencyMs: 3 });
  expect(chain.kills).toBeGreaterThan(0);
});
