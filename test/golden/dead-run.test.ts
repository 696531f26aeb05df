/** Lookups that a killed run was asking for: the next run that wants them sends them with the keys of the killed one. */
import { expect, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { describeWith } from '../services/needed.ts';
import { expectGolden, expectGoldenRequests, isToRecord, requestsIn } from './golden-file.ts';
import { goldenJob, type GoldenJob } from './jobs.ts';
import { KEYS, makeGoldenWorld, runArgs, transcript, writeGoldenJob, type GoldenWorld } from './run-job.ts';
import { loadRedis, saveRedis } from './saved-redis.ts';

const KEPT = { maxAgeDays: 3_650 };
const killed = goldenJob('dead-run', 'halved.csv', ['enrich']);
/** It wants the lookups of the killed run, and some of its own before them. */
const survivor: GoldenJob = {
  ...goldenJob('surviving-run', '', ['enrich']),
  job: { ...killed.job, input: { uri: ['verify.csv', 'halved.csv'] }, output: { uri: 'survivor.csv' } },
};

async function startJob(
  { folder, vendors }: GoldenWorld,
  job: GoldenJob,
  ledger: string,
): Promise<ReturnType<GoldenWorld['folder']['start']>> {
  await writeGoldenJob(folder, job, { ledger: { uri: ledger, ...KEPT } });
  const args = [...runArgs(job), '--scratch', folder.at(`scratch-${job.name}`)];
  return folder.start(args, { env: { ...KEYS, ...vendors.env, NO_PROXY: '127.0.0.1' } });
}

test('a run that shares a ledger file with a killed one asks for its lookups with its keys', async () => {
  const world = await makeGoldenWorld();
  const { folder, vendors } = world;
  vendors.fault = (_sent, number) => (number === 1 ? 'hold' : null);
  const first = await startJob(world, killed, folder.at('shared.ledger'));
  await vendors.when(() => vendors.held === 1);
  const second = await startJob(world, survivor, folder.at('shared.ledger'));
  await vendors.when(() => vendors.sent.some(({ body }) => body.includes('left-finn')));
  first.kill('SIGKILL');
  await first.ended;
  expect(await second.ended).toMatchObject({ code: 0 });
  await expectGoldenRequests('dead-run/file/requests.jsonl', transcript(vendors.sent));
  await expectGolden('dead-run/survivor.csv', await folder.read('survivor.csv'));
});

await describeWith('redis', 'claims of a killed run in Redis', (server) => {
  test('the next run takes over the claims, with the keys of the killed run', async () => {
    if (isToRecord('dead-run/redis/keys.json')) await record(await freeDatabase(server));
    const uri = await freeDatabase(server);
    await loadRedis('dead-run/redis/keys.json', uri);
    const world = await makeGoldenWorld();
    const run = await startJob(world, survivor, uri);
    expect(await run.ended).toMatchObject({ code: 0 });
    const sent = transcript(world.vendors.sent);
    const golden = requestsIn(await expectGoldenRequests('dead-run/redis/requests.jsonl', sent));
    const keys = new Set(requestsIn(sent).map(({ idempotencyKey }) => idempotencyKey));
    const takenOver = golden.filter(({ idempotencyKey }) => keys.has(idempotencyKey));
    const people = ['gia@eta', 'bad-dan@delta', 'cleo@gamma', 'ben@beta', 'eve@epsilon', 'ana@alpha', 'finn@zeta'];
    expect(takenOver.map(({ body }) => body)).toEqual(people.map((email) => JSON.stringify({ email: `${email}.example` })));
    await expectGolden('dead-run/survivor.csv', await world.folder.read('survivor.csv'));
  });
});

async function record(uri: string): Promise<void> {
  const world = await makeGoldenWorld();
  world.vendors.fault = () => 'hold';
  const run = await startJob(world, killed, uri);
  await world.vendors.when(() => world.vendors.held === 1);
  run.kill('SIGKILL');
  await run.ended;
  await saveRedis('dead-run/redis/keys.json', uri);
}
