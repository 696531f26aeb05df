/**
 * Shards that share one quota and a ledger elsewhere, as pods do; and a join from which one of them wakes too late. Real processes, real
 * servers.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { expectSameRequests } from '../crash/crashed-job.ts';
import { freeDatabase } from '../ledger/shared.ts';
import { makeBucket, s3Environment } from '../s3/bucket.ts';
import { neededFacts, describeWith } from '../services/needed.ts';
import { leads, toCsv } from '../support/leads.ts';
import { age, pausedAt, wake } from '../support/paused-run.ts';
import { makeWorld, type World } from '../support/world.ts';

const ROWS = leads(240, 31);
/** A quota for every call at once, so that the test sees the sharing without a wait. */
const RPM = { plan: false, rpm: '60000' } as const;
const RUN = { ...RPM, 'max-errors': '100%', steps: 'enrich', progress: 'log', scratch: 'scratch' } as const;
const LEFT = /\.partial|\.lock|\.tmp$|shard/;

interface Report {
  readonly records: unknown;
  readonly verification: unknown;
  readonly exitCode: number;
  readonly calls: { readonly enrich: number };
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
}

/** The output of one run. The service forgets its requests. */
async function singleRun({
  folder,
  service,
  args,
}: World): Promise<{ readonly bytes: Buffer; readonly report: Report; readonly asked: number }> {
  expect(await folder.run(args({ ...RUN, output: 'whole.csv' }))).toMatchObject({ code: 0 });
  const single = {
    bytes: await readFile(folder.at('whole.csv')),
    report: (await folder.json('whole.csv.report.json')) as unknown as Report,
    asked: service.asked.size,
  };
  service.forget();
  return single;
}

const reportOf = async ({ folder }: World): Promise<Report> => (await folder.json('out.csv.report.json')) as unknown as Report;

async function expectSame(world: World, { bytes, report }: Awaited<ReturnType<typeof singleRun>>): Promise<Report> {
  expect(await readFile(world.folder.at('out.csv'))).toEqual(bytes);
  const joined = await reportOf(world);
  const { records, verification, exitCode } = report;
  expect(joined).toMatchObject({ records, verification, exitCode });
  expect((await world.folder.files()).filter((name) => LEFT.test(name))).toEqual([]);
  return joined;
}

await describeWith('redis', 'shards with one quota', async (redis) => {
  test('with one ledger in Redis write the output of one run and pay no lookup twice, although one is killed', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service, args } = world;
    const single = await singleRun(world);
    const [ledger, quota] = [await freeDatabase(redis), await freeDatabase(redis)];
    const shard = (index: number): string[] => args({ ...RUN, concurrency: '4', ledger, 'service.quota': quota, shard: `${index}/4` });
    // The first calls of an account go alone and are answered. Later ones wait until all shards have begun and one is dead.
    const held: (() => void)[] = [];
    service.script = (asked, _response, reply, usual) => void (asked.number <= 20 ? reply(usual()) : held.push(() => reply(usual())));
    const shards = [0, 1, 2, 3].map((index) => folder.start(shard(index)));
    await Promise.all(shards.map((one) => one.says('"event":"quota_shared"')));
    await service.when(() => service.unanswered.size >= 8);
    shards[2]?.kill('SIGKILL');
    await shards[2]?.ended;
    const inFlight = new Set(service.asked.keys());
    service.script = (_asked, _response, reply, usual) => reply(usual());
    for (const answer of held) answer();
    const again = folder.start(shard(2)).ended;
    const ended = await Promise.all([0, 1, 2, 3].map((index) => (index === 2 ? again : (shards[index]?.ended ?? again))));
    expect(ended.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const { calls, lookups } = await expectSame(world, single);
    expect(service.asked.size).toBe(single.asked);
    expectSameRequests(service);
    // Only lookups in flight at the kill are asked for again, with the same key.
    expect([...service.asked].filter(([name, times]) => times > 1 && !inFlight.has(name))).toEqual([]);
    expect(calls.enrich).toBeLessThanOrEqual(service.requests.length);
    // Without a checkpoint the answers of the killed shard count as those of another run.
    expect(lookups.unique - lookups.fromLedger).toBeLessThanOrEqual(single.asked);
    expect(lookups.unique - lookups.fromLedger).toBeGreaterThanOrEqual(single.asked - inFlight.size);
  });

  test('leave the output unchanged when one paused in the middle of the join wakes after another has joined', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, args } = world;
    const single = await singleRun(world);
    const quota = await freeDatabase(redis);
    const shard = (index: number): string[] => args({ ...RUN, 'service.quota': quota, shard: `${index}/2` });
    expect(await folder.run(shard(0))).toMatchObject({ code: 0 });
    const holder = await pausedAt(folder, shard(1), { call: 'write', file: String.raw`^out\.csv\.partial`, nth: 1 });
    await age(folder.at('out.csv.checkpoint.json.lock'));
    expect(await folder.run(shard(0))).toMatchObject({ code: 0 });
    await expectSame(world, single);
    expect(await wake(folder, holder, 'out.csv')).toMatchObject({ code: 75, changed: [] });
    await expectSame(world, single);
  });

  const s3 = await neededFacts('s3');
  describe.skipIf(typeof s3 === 'string' && process.env['CI'] !== 'true')('with one ledger in S3', () => {
    test('on new machines, one after the other, pay for no lookup twice, although one is killed', async () => {
      if (typeof s3 === 'string') throw new Error(s3);
      const bucket = await makeBucket(s3);
      const world = await makeWorld(toCsv(ROWS));
      const { folder, service, args } = world;
      const single = await singleRun(world);
      const quota = await freeDatabase(redis);
      const shard = (index: number, scratch: string): string[] =>
        args({
          ...RUN,
          scratch,
          concurrency: '4',
          ledger: `s3://${bucket.name}/shared.ledger`,
          'service.quota': quota,
          shard: `${index}/2`,
        });
      const env = s3Environment(s3);
      expect(await folder.run(shard(0, 'first'), { env })).toMatchObject({ code: 0 });
      // Failures are not shared.
      const answered = [...service.asked.keys()].filter((name) => !name.startsWith('enrich refused'));
      const more = service.requests.length + 20;
      let stopped = false;
      service.script = (_asked, _response, reply, usual) => {
        if (stopped || service.requests.length < more) reply(usual());
      };
      const second = folder.start(shard(1, 'second'), { env });
      await service.when(() => service.requests.length >= more);
      second.kill('SIGKILL');
      await second.ended;
      stopped = true;
      expect(await folder.run(shard(1, 'third'), { env })).toMatchObject({ code: 0 });
      await expectSame(world, single);
      expect(service.asked.size).toBe(single.asked);
      // Answers of the first shard are not asked for again. Those of the killed one are, if not durable, with the same key.
      expect(answered.filter((name) => (service.asked.get(name) ?? 0) > 1)).toEqual([]);
      expectSameRequests(service);
    });
  });
});
