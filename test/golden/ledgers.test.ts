/** A job over each recorded ledger file finds every answer in it, and sends nothing. */
import { expect, test } from 'vitest';
import { Ledger } from '../../src/ledger/ledger.ts';
import { DatabaseSync } from 'node:sqlite';
import { expectGolden, isToRecord } from './golden-file.ts';
import type { GoldenJob } from './jobs.ts';
import { PAID_JOBS } from './paid-jobs.ts';
import { INPUTS, makeGoldenWorld, runArgs, transcript, writeGoldenJob } from './run-job.ts';
import { loadFolder, saveFolder } from './saved-folder.ts';

test.each(PAID_JOBS)('the ledger of $name answers its records for nothing', async (job) => {
  if (isToRecord(`ledgers/${job.name}/files`)) await record(job);
  const { folder, vendors, run } = await makeGoldenWorld();
  await writeGoldenJob(folder, job);
  await loadFolder(`ledgers/${job.name}/files`, folder, vendors);
  expect(await run(...runArgs(job))).toMatchObject({ code: 0 });
  expect(transcript(vendors.sent)).toBe('');
  await expectGolden(`ledgers/${job.name}/out.csv`, await folder.read('out.csv'));
});

async function record(job: GoldenJob): Promise<void> {
  const { folder, vendors, run } = await makeGoldenWorld();
  await writeGoldenJob(folder, job);
  expect(await run(...runArgs(job))).toMatchObject({ code: 0 });
  fillIndex(folder.at('out.csv.ledger'), job.name);
  const others = (await folder.files()).filter((name) => name !== 'out.csv.ledger');
  await saveFolder(`ledgers/${job.name}/files`, folder, vendors, [...INPUTS, ...others]);
}

/** Writes the index of the answers to the disk, which a run does for 65,536 answers at once. */
function fillIndex(path: string, job: string): void {
  const last = answersUpTo(path);
  const ledger = Ledger.open({ path, job, run: 'run-of-the-index', maxAgeDays: 0, now: () => 0, indexBatch: 4 });
  const scope = ledger.scope('http://other.golden.example', 'company', 'by domain');
  while (placedUpTo(path) < last) {
    ledger.put([{ scope, key: 'other.example', answer: { kind: 'miss' } }]);
    ledger.flush();
  }
  ledger.close();
}

function answersUpTo(path: string): number {
  return numberIn(path, 'SELECT max(id) AS n FROM answers');
}

function placedUpTo(path: string): number {
  return numberIn(path, 'SELECT up_to AS n FROM placed');
}

function numberIn(path: string, sql: string): number {
  const db = new DatabaseSync(path, { readOnly: true });
  const row = db.prepare(sql).get();
  db.close();
  return Number(row?.['n']);
}
