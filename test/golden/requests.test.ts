/** Requests, rows, reports and ledgers of whole runs, compared with what the build before the refactoring sent and wrote. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { expectGolden, expectGoldenBytes } from './golden-file.ts';
import { GOLDEN_JOBS } from './jobs.ts';
import { maskedReport } from './masked-report.ts';
import { answersIn, makeGoldenWorld, outputOf, runArgs, transcript, writeGoldenJob } from './run-job.ts';

test.each(GOLDEN_JOBS)('the job $name sends, writes and keeps what its golden files have', async (job) => {
  const { folder, vendors, run } = await makeGoldenWorld();
  vendors.fault = job.fault?.() ?? (() => null);
  await writeGoldenJob(folder, job);
  const ended = await run(...runArgs(job));
  expect(ended).toMatchObject({ code: 0 });
  const output = outputOf(job);
  await expectGolden(`runs/${job.name}/requests.jsonl`, transcript(vendors.sent));
  await expectGoldenBytes(`runs/${job.name}/${output}`, await readFile(folder.at(output)));
  await expectGolden(`runs/${job.name}/errors.jsonl`, await folder.read(`${output}.errors.jsonl`).catch(() => ''));
  await expectGolden(`runs/${job.name}/report.json`, maskedReport(await folder.json(`${output}.report.json`)));
  await expectGolden(`runs/${job.name}/answers.jsonl`, answersIn(folder.at(`${output}.ledger`)));
});
