/** A paused run that lost its job changes nothing when it wakes up: every file keeps the bytes of its successor. */
import { appendFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Folder, Started } from '../support/cli.ts';
import { atStep } from '../support/crash-chain.ts';
import { csvJob, resultOf } from '../support/crash-jobs.ts';
import { leads } from '../support/leads.ts';
import { age, CUTTING, HEIRS, LATER_CHECKPOINT, pausedAt, standsStill, STEPS, TAKING_OVER, wake, WRITING } from '../support/paused-run.ts';
import { sampleOf } from '../support/sample.ts';
import { prepare, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

const ROWS = leads(120, 23);
const JOB = csvJob(ROWS, { steps: 'enrich', concurrency: '4' });
/** Busy machines are no reason to fail. */
const LONG_TIMEOUT = { timeout: 300_000 };

let made: Promise<unknown> | null = null;
const expected = (): Promise<unknown> => (made ??= undisturbed(JOB, ROWS));

/** An eighth of the cases in each run; bench/two-runs.ts has all. */
const someOf = <T>(all: readonly T[]): readonly T[] => sampleOf(all, Math.ceil(all.length / 8), SEED);

/** Each step with another state of the successor. */
const CASES = STEPS.map((step, i) => ({ step, heir: HEIRS[(i + 2 + SEED) % HEIRS.length] ?? { name: '', step: null } }));

test.each(
  someOf(CASES).map(({ step, heir }) => ({ name: `${step.name}, and wakes when the heir ${heir.name} (SEED=${SEED})`, step, heir })),
)('a run paused before $name ends with 75 and changes nothing', LONG_TIMEOUT, async ({ step, heir: { step: heirStep } }) => {
  const { folder, args } = await slowly();
  const holder = await overdueAt(folder, args, step);
  const heir = folder.start(args, heirStep === null ? {} : { env: atStep(heirStep, 'SIGSTOP') });
  await standsStill(heir);
  await wakesInVain(folder, holder);
  heir.kill('SIGCONT');
  await finishes(folder, heir);
});

test.each(someOf(TAKING_OVER))(
  'a successor killed before $name leaves a next run that shares no file with the paused run either',
  LONG_TIMEOUT,
  async (step) => {
    const { folder, args } = await slowly();
    const holder = await overdueAt(folder, args, WRITING);
    expect((await folder.run(args, { env: atStep(step) })).signal).toBe('SIGKILL');
    const next = await pausedAt(folder, args, STEPS[3] ?? WRITING);
    await wakesInVain(folder, holder);
    next.kill('SIGCONT');
    await finishes(folder, next);
  },
);

test.each(sampleOf(CUTTING, 1))(
  'a resuming run paused before $name truncates nothing that its successor wrote',
  LONG_TIMEOUT,
  async (step) => {
    const { folder, args } = await slowly();
    expect((await folder.run(args, { env: atStep(LATER_CHECKPOINT) })).signal).toBe('SIGKILL');
    await appendFile(folder.at(`${JOB.output}.partial`), 'written, and in no checkpoint');
    const holder = await overdueAt(folder, args, step);
    const heir = await pausedAt(folder, args, { ...LATER_CHECKPOINT, nth: 3 });
    await wakesInVain(folder, holder);
    heir.kill('SIGCONT');
    await finishes(folder, heir);
  },
);

/** Answers slow enough for several checkpoints. */
async function slowly(): Promise<{ folder: Folder; args: string[] }> {
  const { folder, service, args } = await prepare(JOB);
  service.latencyMs = 10;
  return { folder, args };
}

async function overdueAt(folder: Folder, args: readonly string[], step: Parameters<typeof pausedAt>[2]): Promise<Started> {
  const holder = await pausedAt(folder, args, step);
  await age(folder.at(`${JOB.output}.checkpoint.json.lock`));
  return holder;
}

async function wakesInVain(folder: Folder, holder: Started): Promise<void> {
  const { code, stderr, changed } = await wake(folder, holder, JOB.output);
  expect({ code, stderr, changed }).toEqual({
    code: 75,
    stderr: expect.stringMatching(/^millrace: this run lost the job: /m),
    changed: [],
  });
}

async function finishes(folder: Folder, run: Started): Promise<void> {
  expect(await run.ended).toMatchObject({ code: 0, stderr: '' });
  expect(await resultOf(folder, JOB)).toEqual(await expected());
  expect(
    (await folder.files()).filter(
      (name) => !/^(?:in|out)\.csv$|\.(?:ledger|checkpoint\.json|report\.(?:json|html)|errors\.jsonl)$/.test(name),
    ),
  ).toEqual([]);
}
