import { expect, test } from 'vitest';
import { finishingMoments, type Site } from '../support/crash-chain.ts';
import { leads } from '../support/leads.ts';
import { csvJob } from '../support/crash-jobs.ts';
import { sampleOf } from '../support/sample.ts';
import { killed, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

const ROWS = leads(60, 7);
const JOB = csvJob(ROWS);
const MOMENTS = finishingMoments(JOB.output);

/** The files that prove the moment of a kill, in the order of `MOMENTS`. */
const SITES: readonly Site[] = [
  {
    state: 'running',
    files: ['out.csv.checkpoint.json', 'out.csv.checkpoint.json.*.tmp', 'out.csv.errors.jsonl.partial', 'out.csv.partial'],
  },
  { state: 'finishing', files: ['out.csv.*.tmp', 'out.csv.checkpoint.json', 'out.csv.errors.jsonl.partial', 'out.csv.partial'] },
  { state: 'finishing', files: ['out.csv', 'out.csv.checkpoint.json', 'out.csv.errors.jsonl.*.tmp', 'out.csv.errors.jsonl.partial'] },
  { state: 'finishing', files: ['out.csv', 'out.csv.checkpoint.json', 'out.csv.errors.jsonl', 'out.csv.report.json.*.tmp'] },
  {
    state: 'finishing',
    files: ['out.csv', 'out.csv.checkpoint.json', 'out.csv.errors.jsonl', 'out.csv.report.html.*.tmp', 'out.csv.report.json'],
  },
  {
    state: 'finishing',
    files: [
      'out.csv',
      'out.csv.checkpoint.json',
      'out.csv.checkpoint.json.*.tmp',
      'out.csv.errors.jsonl',
      'out.csv.report.html',
      'out.csv.report.json',
    ],
  },
];

let made: Promise<unknown> | null = null;
const expected = (): Promise<unknown> => (made ??= undisturbed(JOB, ROWS));

/** Without the input, the ledger and the lock, which always exist. */
function left({ state, files }: Site): Site {
  const named = files.map((name) => name.replace(/\.[0-9a-f]{8}\.tmp$/, '.*.tmp')).sort();
  return { state, files: named.filter((name) => name.startsWith(JOB.output) && !/\.(?:ledger(?:-\w+)?|lock)$/.test(name)) };
}

test.each(
  sampleOf(
    MOMENTS.map(({ name, moment }, i) => ({ name, moment, site: SITES[i] })),
    2,
  ),
)(`a run killed $name is completed by the next run without a call (SEED=${SEED})`, async ({ moment, site }) => {
  const chain = await killed(JOB, await expected(), [moment]);
  expect(chain.sites.map(left)).toEqual([site]);
  expect(chain).toMatchObject({ kills: 1, runs: 2, repeated: 0 });
});

test('a run killed at each of these steps in turn survives a crash during its recovery as well', async () => {
  const chain = await killed(
    JOB,
    await expected(),
    MOMENTS.map(({ moment }) => moment),
  );
  expect(chain.sites.map(left)).toEqual(SITES);
  expect(chain).toMatchObject({ kills: SITES.length, runs: SITES.length + 1, repeated: 0 });
});
