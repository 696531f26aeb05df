import { appendFile, readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Folder } from '../support/cli.ts';
import { finishingMoments, killThrough, randomMoments, type Chain, type Moment } from '../support/crash-chain.ts';
import { csvJob, resultOf, type Job } from '../support/crash-jobs.ts';
import { readLedger } from '../support/crash-site.ts';
import { oneIn, refusing } from '../support/failing.ts';
import { leads, seeded, toCsv, type Lead } from '../support/leads.ts';
import type { Asked, ScriptedService } from '../support/scripted-service.ts';
import { casesOf, sampleOf } from '../support/sample.ts';
import { expectSameRequests, expectUnharmed, prepare, undisturbed } from './crashed-job.ts';
import { SEED } from '../support/seed.ts';

const LATENCY_MS = 3;

interface Finished {
  readonly folder: Folder;
  readonly service: ScriptedService;
  readonly args: readonly string[];
  readonly old: Buffer;
}

/** A finished job in which one lookup in `share` (or those chosen) was refused. From now on all are answered. */
async function finished(
  job: Job,
  share: number,
  fails: (key: string, path: Asked['path']) => boolean = (key, path) => oneIn(share)(`${path} ${key}`),
): Promise<Finished> {
  const { folder, service, args } = await prepare(job);
  service.script = refusing(fails);
  expect(await folder.run(args)).toMatchObject({ code: 0 });
  service.script = (_asked, _response, reply, usual) => reply(usual());
  service.latencyMs = LATENCY_MS;
  service.forget();
  return { folder, service, args: ['retry', ...args.slice(1)], old: await readFile(folder.at(job.output)) };
}

/** Kills the retry at these moments, lets it finish, and checks it. */
async function killed(job: Job, rows: readonly Lead[], share: number, momentsOf: (requests: number) => readonly Moment[]): Promise<Chain> {
  const expected = (await undisturbed(job, rows)) as { bytes: string };
  const { folder, service, args, old } = await finished(job, share);
  const failed = (await folder.read(`${job.output}.errors.jsonl`)).split('\n').filter((line) => /"step":"/.test(line)).length;
  const { last } = await readLedger(folder.at(`${job.output}.ledger`));
  const chain = await killThrough(folder, service, args, job.output, momentsOf(failed), {
    answersBefore: last,
    onKill: async () => {
      const now = await readFile(folder.at(job.output));
      expect(now.equals(old) || now.equals(Buffer.from(expected.bytes, 'base64'))).toBe(true);
    },
  });
  await expectUnharmed(job, expected, folder, service, chain);
  return chain;
}

const CASES: readonly {
  readonly name: string;
  readonly rows: number;
  readonly share: number;
  readonly flags: Readonly<Record<string, string>>;
  readonly output: string;
}[] = [
  { name: 'csv', rows: 500, share: 3, flags: { concurrency: '8' }, output: 'out.csv' },
  {
    name: 'few failed of many, verify alone, jsonl.zst',
    rows: 9_000,
    share: 90,
    flags: { steps: 'verify', 'limits.trustMisses': 'true' },
    output: 'out.jsonl.zst',
  },
  { name: 'enrich alone, csv.gz', rows: 1_200, share: 3, flags: { steps: 'enrich', concurrency: '8' }, output: 'out.csv.gz' },
];

describe(`a retry killed at random moments (SEED=${SEED})`, () => {
  test.each(sampleOf(CASES, 1, SEED))(
    'keeps a complete output of the same bytes, and asks for no durable answer again: $name',
    async ({ rows: count, share, flags, output }) => {
      const rows = leads(count, SEED % 1_000);
      const job: Job = { files: { 'in.csv': toCsv(rows) }, flags: { input: 'in.csv', ...flags }, output };
      const chain = await killed(job, rows, share, (failed) =>
        randomMoments(casesOf(2, 4), flags['steps'] === 'verify' ? 2 : failed, seeded(SEED + count)),
      );
      expect(chain.runs).toBeGreaterThan(1);
    },
  );
});

test('a retry killed at each step of its commit in turn is completed by the next run without a call', async () => {
  const rows = leads(60, 7);
  const job = csvJob(rows);
  const chain = await killed(job, rows, 3, () => finishingMoments(job.output).map(({ moment }) => moment));
  expect(chain.sites.map(({ state }) => state)).toEqual(['running', 'finishing', 'finishing', 'finishing', 'finishing', 'finishing']);
  expect(chain).toMatchObject({ kills: 6, runs: 7, repeated: 0 });
});

test('millrace run continues a killed retry, and takes a changed input as a new run', async () => {
  const rows = leads(300, 9);
  const job = csvJob(rows, { concurrency: '4' });
  const expected = await undisturbed(job, rows);
  for (const changed of [false, true]) {
    const { folder, service, args } = await finished(job, 2);
    const run = ['run', ...args.slice(1).map((arg) => (arg === 'none' ? 'log' : arg))];
    const started = folder.start(args);
    await service.sees(20);
    started.kill('SIGKILL');
    await started.ended;
    if (changed) {
      await appendFile(folder.at('in.csv'), 'Näme 300,new@works1.example,,\n');
      expect(await folder.run(args)).toMatchObject({
        code: 65,
        stderr: expect.stringContaining('the input is not what the job has read: in.csv had'),
      });
      expect(await folder.run(run)).toMatchObject({ code: 0 });
      expect((await folder.json('out.csv.report.json'))['records']).toMatchObject({ total: 301 });
      expect(service.asked.get('enrich new@works1.example')).toBe(1);
    } else {
      expect(await folder.run(run)).toMatchObject({ code: 0, stderr: expect.stringContaining('a retry was under way and goes on') });
      expect(await resultOf(folder, job)).toEqual(expected);
      expectSameRequests(service);
    }
    expect((await folder.json('out.csv.checkpoint.json'))['retry']).toBeNull();
  }
});

test('a retry with few failed lookups, killed at its first request, sends it again, though the reader now gets further', async () => {
  const job: Job = {
    files: { 'in.csv': toCsv(leads(20_000, 13)) },
    flags: { input: 'in.csv', steps: 'verify', 'limits.trustMisses': 'true' },
    output: 'out.csv',
  };
  // No early row fails, so the window of the next retry reaches much further than the first one's.
  const fails = (key: string): boolean => Number(/^person13-(\d+)@/.exec(key)?.[1] ?? 0) >= 6_000 && oneIn(100)(key);
  const { folder, service, args } = await finished(job, 0, fails);
  service.script = () => undefined;
  const started = folder.start(args);
  await service.sees(1);
  // Rows before the first failed one are written, so the next retry begins behind them.
  while (
    ((await folder.json('out.csv.checkpoint.json')) as { mark: { position: { finished?: { rows: number } } | null } }).mark.position
      ?.finished === undefined
  );
  started.kill('SIGKILL');
  await started.ended;
  service.script = (_asked, _response, reply, usual) => reply(usual());
  expect((await folder.run(args)).code).toBe(0);
  expect(service.requests.length).toBeGreaterThan(2);
  expectSameRequests(service);
});
