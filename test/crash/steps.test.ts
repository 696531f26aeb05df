import { expect, test } from 'vitest';
import { stepByStep } from '../support/crash-chain.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { leads } from '../support/leads.ts';
import { killed, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

const STRIDE = 7;

test(
  `a job survives runs that are each killed before a disk write, a few steps further than the run before (SEED=${SEED})`,
  { timeout: 300_000 },
  async () => {
    const rows = leads(60, SEED % 1_000);
    const job = csvJob(rows);
    const chain = await killed(job, await undisturbed(job, rows), stepByStep(1 + (SEED % STRIDE), STRIDE));
    // The lock, the checkpoint, the ledger, the rows, and all of finishing.
    expect(chain.kills).toBeGreaterThan(4);
  },
);
