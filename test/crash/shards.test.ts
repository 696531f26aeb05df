/** Killed shards, and a killed join: the result is that of one run. */
import { expect, test } from 'vitest';
import { atStep, type Step } from '../support/crash-chain.ts';
import { csvJob, resultOf, type Job } from '../support/crash-jobs.ts';
import { leads, seeded } from '../support/leads.ts';
import { expectSameRequests, prepare, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

const STRIDE = 11;

const LEFT = /\.partial|\.lock|\.tmp$|\.shard/;

/** Without the lookups: a lookup that two shards ask for at the same moment counts twice. */
function withoutLookups(result: unknown): unknown {
  const { numbers, ...rest } = result as { numbers: object };
  return { ...rest, numbers: { ...numbers, lookups: null } };
}

test(`four shards at once give the output of one run, although each is killed again and again (SEED=${SEED})`, async () => {
  const rows = leads(240, SEED % 1_000);
  const job = csvJob(rows, { concurrency: '4', steps: 'enrich' });
  const expected = await undisturbed(job, rows);
  const { folder, service, args } = await prepare(job);
  service.latencyMs = 2;
  const random = seeded(SEED);
  let kills = 0;
  const runThrough = async (index: number): Promise<void> => {
    for (let left = 2; ; left--) {
      const env = left > 0 ? atStep({ nth: 1 + Math.floor(random() * 90) }) : {};
      const { code, signal, stderr } = await folder.run([...args, '--shard', `${index}/4`], { env });
      if (signal === 'SIGKILL') kills++;
      else if (code === 0) return;
      else throw new Error(`shard ${index} ended with ${code ?? signal}:\n${stderr}`);
    }
  };
  await Promise.all([0, 1, 2, 3].map(runThrough));
  expect(kills).toBeGreaterThan(0);
  expect(withoutLookups(await resultOf(folder, job))).toEqual(withoutLookups(expected));
  expectSameRequests(service);
  expect((await folder.files()).filter((name) => LEFT.test(name))).toEqual([]);
});

test(`any shard continues a join that was killed again and again, each time a few steps further (SEED=${SEED})`, async () => {
  const rows = leads(60, 7);
  const job: Job = csvJob(rows);
  const expected = await undisturbed(job, rows);
  const { folder, service, args } = await prepare(job);
  const shard = (index: number, step?: Step): ReturnType<typeof folder.run> =>
    folder.run([...args, '--shard', `${index}/2`], step === undefined ? {} : { env: atStep(step) });
  expect(await shard(0)).toMatchObject({ code: 0 });
  // Right before the first byte of the joined output.
  expect(await shard(1, { call: 'open', file: String.raw`^out\.csv\.partial\.\*\.tmp$`, nth: 1 })).toMatchObject({ signal: 'SIGKILL' });
  service.forget();
  const found = new Set<string>();
  let kills = 0;
  for (let nth = 1 + (SEED % STRIDE); ; nth += STRIDE) {
    const ended = await shard(kills % 2, { nth });
    if (ended.code === 0) break;
    expect(ended).toMatchObject({ signal: 'SIGKILL' });
    kills++;
    const files = await folder.files();
    // The parts stay until the joined file is published.
    const isJoined = files.includes('out.csv');
    if (!isJoined) for (const index of [0, 1]) expect(files).toContain(`out.csv.shard-${index}-of-2`);
    found.add(
      !files.includes('out.csv.checkpoint.json')
        ? 'joining'
        : isJoined
          ? files.includes('out.csv.checkpoint.json.shards')
            ? 'clearing'
            : 'cleared'
          : 'finishing',
    );
  }
  expect(kills).toBeGreaterThan(3);
  expect([...found]).toEqual(expect.arrayContaining(['joining', 'clearing']));
  expect(await resultOf(folder, job)).toEqual(expected);
  expect(service.requests).toEqual([]);
  expect((await folder.files()).filter((name) => LEFT.test(name))).toEqual([]);
});
