/** Shards that share one quota and a ledger elsewhere, as pods do; and a join from which one of them wakes too late. Real processes, real servers. */
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
/** Enough for every call at once: that one quota is shared is seen, and not waited for. */
const RPM = { plan: false, rpm: '60000' } as const;
const RUN = { ...RPM, 'max-errors': '100%', steps: 'enrich', progress: 'log', scratch: 'scratch' } as const;
const LEFT = /\.partial|\.lock|\.tmp$|shard/;

interface Report { readonly records: unknown; readonly verification: unknown; readonly exitCode: number; readonly calls: { readonly enrich: number }; readonly lookups: { readonly unique: number; readonly fromLedger: number } }

/** What one run writes; then the service has forgotten it. */
async function wholeOf({ folder, service, args }: World): Promise<{ readonly bytes: Buffer; readonly report: Report; readonly asked: number }> {
  expect(await folder.run(args({ ...RUN, output: 'whole.csv' }))).toMatchObject({ code: 0 });
  const whole = { bytes: await readFile(folder.at('whole.csv')), report: (await folder.json('whole.csv.report.json')) as unknown as Report, asked: service.asked.size };
  service.forget();
  return whole;
}

const reportOf = async ({ folder }: World): Promise<Report> => (await folder.json('out.csv.report.json')) as unknown as Report;

async function expectSame(world: World, { bytes, report }: Awaited<ReturnType<typeof wholeOf>>): Promise<Report> {
  expect(await readFile(world.folder.at('out.csv'))).toEqual(bytes);
  const joined = await reportOf(world);
  const { records, verification, exitCode } = report;
  expect(joined).toMatchObject({ records, verification, exitCode });
  expect((await world.folder.files()).filter((name) => LEFT.test(name))).toEqual([]);
  return joined;
}

await describeWith('redis', 'shards with one quota', async (redis) => {
  test('and one ledger in Redis, one of them killed and started again: what one run writes, and no lookup is paid for twice', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, service, args } = world;
    const whole = await wholeOf(world);
    const [ledger, quota] = [await freeDatabase(redis), await freeDatabase(redis)];
    const shard = (index: number): string[] => args({ ...RUN, concurrency: '4', ledger, 'service.quota': quota, shard: `${index}/4` });
    // The first calls of an account go alone, so some are answered; what then comes waits until all have begun and one is dead.
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
    const { calls, lookups } = await expectSame(world, whole);
    expect(service.asked.size).toBe(whole.asked);
    expectSameRequests(service);
    // Those alone that the killed one had in flight are asked again, with the same key.
    expect([...service.asked].filter(([name, times]) => times > 1 && !inFlight.has(name))).toEqual([]);
    expect(calls.enrich).toBeLessThanOrEqual(service.requests.length);
    // What the killed one was answered is another run's where it had no checkpoint yet.
    expect(lookups.unique - lookups.fromLedger).toBeLessThanOrEqual(whole.asked);
    expect(lookups.unique - lookups.fromLedger).toBeGreaterThanOrEqual(whole.asked - inFlight.size);
  });

  test('a run that was paused in the middle of the join wakes when another has joined: nothing of it gets into the output', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, args } = world;
    const whole = await wholeOf(world);
    const quota = await freeDatabase(redis);
    const shard = (index: number): string[] => args({ ...RUN, 'service.quota': quota, shard: `${index}/2` });
    expect(await folder.run(shard(0))).toMatchObject({ code: 0 });
    const holder = await pausedAt(folder, shard(1), { call: 'write', file: String.raw`^out\.csv\.partial`, nth: 1 });
    await age(folder.at('out.csv.checkpoint.json.lock'));
    expect(await folder.run(shard(0))).toMatchObject({ code: 0 });
    await expectSame(world, whole);
    expect(await wake(folder, holder, 'out.csv')).toMatchObject({ code: 75, changed: [] });
    await expectSame(world, whole);
  });

  const s3 = await neededFacts('s3');
  describe.skipIf(typeof s3 === 'string' && process.env['CI'] !== 'true')('and one ledger in S3', () => {
    test('one after the other, each on a machine that knows nothing, one killed: no lookup is paid for twice', async () => {
      if (typeof s3 === 'string') throw new Error(s3);
      const bucket = await makeBucket(s3);
      const world = await makeWorld(toCsv(ROWS));
      const { folder, service, args } = world;
      const whole = await wholeOf(world);
      const quota = await freeDatabase(redis);
      const shard = (index: number, scratch: string): string[] => args({ ...RUN, scratch, concurrency: '4', ledger: `s3://${bucket.name}/shared.ledger`, 'service.quota': quota, shard: `${index}/2` });
      const env = s3Environment(s3);
      expect(await folder.run(shard(0, 'first'), { env })).toMatchObject({ code: 0 });
      // What failed is nobody else's.
      const told = [...service.asked.keys()].filter((name) => !name.startsWith('enrich refused'));
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
      await expectSame(world, whole);
      expect(service.asked.size).toBe(whole.asked);
      // Of what the first was told nothing is asked again; of the killed one what was not durable, with the same key.
      expect(told.filter((name) => (service.asked.get(name) ?? 0) > 1)).toEqual([]);
      expectSameRequests(service);
    });
  });
});
