/** Runs that share a ledger and a quota in a Redis Cluster: real processes and three real nodes. One node dies. */
import { writeFile } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { describeWith } from '../services/needed.ts';
import { RedisCluster } from '../services/redis-cluster.ts';
import { RedisServer } from '../services/redis.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';

const ROWS = leads(200, 21).filter(({ key }) => key?.startsWith('refused') !== true);
const CONCURRENCY = 4;

async function startCluster(): Promise<RedisCluster> {
  const cluster = await RedisCluster.start();
  onTestFinished(() => cluster.end());
  return cluster;
}

/** Two runs over the same people at once. */
async function bothRuns({ folder, args }: World, more: Record<string, string>): Promise<{ code: number | null; stderr: string }[]> {
  return Promise.all(
    ['left', 'right'].map(async (side) => {
      await writeFile(folder.at(`${side}.csv`), toCsv(ROWS));
      return folder.start(
        args({
          name: side,
          input: `${side}.csv`,
          output: `${side}-out.csv`,
          scratch: 'scratch',
          steps: 'enrich',
          concurrency: String(CONCURRENCY),
          'ledger.maxAgeDays': '30',
          ...more,
        }),
      ).ended;
    }),
  );
}

const SHARED_KEY = 'millrace:ledger:{shared}:x';
const askedTwice = ({ service }: World): string[] => [...service.asked].filter(([, times]) => times > 1).map(([key]) => key);

await describeWith('redis', 'a Redis Cluster', () => {
  test('two runs with any node’s address share ledger and quota and look up each key once; stats and purge see all answers', async () => {
    const [cluster, world] = [await startCluster(), await makeWorld()];
    world.service.latencyMs = 2;
    const ended = await bothRuns(world, { ledger: cluster.uri, 'service.quota': cluster.uri, plan: false as never, rpm: '60000' });
    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(askedTwice(world)).toEqual([]);
    expect(JSON.parse((await world.folder.run(['ledger', 'stats', '--ledger', cluster.uri])).stdout)).toMatchObject({
      answers: world.service.asked.size,
    });
    expect(
      JSON.parse((await world.folder.run(['ledger', 'purge', '--ledger', cluster.uri, '--older-than', '0h', '--json'])).stdout),
    ).toMatchObject({ purged: world.service.asked.size });
    expect([...(await cluster.keys()).values()].flat().filter((key) => key.includes(':a:'))).toEqual([]);
  });

  test("while the ledger's master is down the runs wait, and no lookup is sent twice", async () => {
    const [cluster, world] = [await startCluster(), await makeWorld()];
    world.service.latencyMs = 5;
    const both = bothRuns(world, { ledger: cluster.uri });
    await world.service.when(() => world.service.answered >= 60);
    const master = await cluster.masterOf(SHARED_KEY);
    await cluster.kill(master);
    await cluster.startAgain(master);
    expect((await both).map(({ code }) => code)).toEqual([0, 0]);
    expect(askedTwice(world)).toEqual([]);
  });

  test("when the ledger's master dies its replica takes over, and the runs continue", async () => {
    const [cluster, world] = [await startCluster(), await makeWorld()];
    const master = await cluster.masterOf(SHARED_KEY);
    await cluster.addReplica(master);
    world.service.latencyMs = 5;
    const both = bothRuns(world, { ledger: cluster.uri });
    await world.service.when(() => world.service.answered >= 60);
    await cluster.kill(master);
    expect((await both).map(({ code }) => code)).toEqual([0, 0]);
    // Replication is asynchronous, so the last confirmed writes of the master are lost with it.
    expect(askedTwice(world).length).toBeLessThanOrEqual(4 * CONCURRENCY);
  });

  test('a master that stays down without a replica is an outage and ends with 74, and the same command resumes', async () => {
    const [cluster, world] = [await startCluster(), await makeWorld(toCsv(ROWS))];
    const run = world.args({
      scratch: 'scratch',
      steps: 'enrich',
      concurrency: '2',
      ledger: cluster.uri,
      'ledger.maxAgeDays': '30',
      'limits.maxOutageMs': '3000',
    });
    world.service.latencyMs = 5;
    const first = world.folder.run(run);
    await world.service.when(() => world.service.answered >= 60);
    const master = await cluster.masterOf(SHARED_KEY);
    await cluster.kill(master);
    expect(await first).toMatchObject({
      code: 74,
      stderr: expect.stringMatching(/Redis at redis:\/\/127\.0\.0\.1:\d+\/0 has not answered for \d+ s[^]*the job resumes/),
    });
    await cluster.startAgain(master);
    expect((await world.folder.run(run)).code).toBe(0);
    expect(askedTwice(world)).toEqual([]);
  });
});

await describeWith('redis', 'a server that wants a certificate of its clients', () => {
  test('certificate paths in the ledger and quota addresses work, and no checkpoint or report contains them', async () => {
    const { server, folder: made } = await RedisServer.startMutual();
    onTestFinished(() => server.end());
    const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 20)));
    const uri = `rediss://127.0.0.1:${server.port}/0`;
    const withFiles = `${uri}?cacert=${made}/ca.crt&cert=${made}/client.crt&key=${made}/client.key`;
    const more = { scratch: 'scratch', steps: 'enrich', plan: false as never, rpm: '60000', ledger: withFiles, 'service.quota': withFiles };
    expect(await folder.run(args(more))).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: Redis keeps no append-only file .*\n$/) as string,
    });
    const texts = await Promise.all((await folder.files()).filter((name) => name.includes('out.csv')).map((name) => folder.read(name)));
    expect(texts.filter((text) => text.includes('client.key'))).toEqual([]);
    const without = `${uri}?cacert=${made}/ca.crt`;
    for (const refused of [{ ledger: without }, { 'service.quota': without }]) {
      expect(await folder.run(args({ ...more, ...refused, output: 'other.csv' }))).toMatchObject({
        code: 78,
        stderr: expect.stringContaining('?cert='),
      });
    }
  });
});
