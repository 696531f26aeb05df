/** Requests, rows, reports and ledgers of whole runs, compared with what the build before the refactoring sent and wrote. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { expectGolden, expectGoldenBytes, expectGoldenRequests } from './golden-file.ts';
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
  await expectGoldenRequests(`runs/${job.name}/requests.jsonl`, transcript(vendors.sent));
  await expectGoldenBytes(`runs/${job.name}/${output}`, await readFile(folder.at(output)));
  await expectGolden(`runs/${job.name}/errors.jsonl`, await folder.read(`${output}.errors.jsonl`).catch(() => ''));
  await expectGolden(`runs/${job.name}/report.json`, maskedReport(await folder.json(`${output}.report.json`)));
  const answers = answersIn(folder.at(`${output}.ledger`));
  const without = withoutMissTexts(answers);
  await expectGolden(`runs/${job.name}/answers.jsonl`, without);
  // The same with the texts that later versions keep.
  if (answers !== without) await expectGolden(`runs/${job.name}/answers-with-misses.jsonl`, answers);
});

/** The number of a miss among the kinds of answers. */
const MISS = 1;

/** The answers as they were before a declared provider's misses had a text. */
function withoutMissTexts(answers: string): string {
  return answers.replaceAll(/^.+$/gm, (line) => {
    const row = JSON.parse(line) as unknown[];
    return row[4] === MISS ? JSON.stringify([...row.slice(0, 5), '']) : line;
  });
}
