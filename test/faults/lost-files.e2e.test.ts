/** Files of a stopped job that are gone when it is resumed. */
import { mkdir, rename, rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import { freeDatabase } from '../ledger/shared.ts';
import { makeBucket, s3Environment } from '../s3/bucket.ts';
import { describeWith } from '../services/needed.ts';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld, type World } from '../support/world.ts';

const ROWS = leads(400, 3);
const APART = {
  output: 'volume/out.csv',
  checkpoint: 'state/checkpoint.json',
  ledger: 'state/answers.ledger',
  'max-errors': '100%',
  concurrency: '4',
};

/** A run that ends by this signal after half of its requests. */
async function stopped({ folder, service, args }: World, signal: NodeJS.Signals, more = {}, env = {}, sees = 200): Promise<void> {
  service.latencyMs = 5;
  const first = folder.start(args({ ...APART, ...more }), { env });
  await service.sees(sees);
  first.kill(signal);
  await first.ended;
}

test('the folder of the output is not made anew: the job resumes when it is back', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  await stopped(world, 'SIGTERM');
  await rename(folder.at('volume'), folder.at('unmounted'));
  const asked = service.requests.length;
  const refused = await folder.run(args(APART));
  expect(refused).toMatchObject({ code: 74, stderr: expect.stringContaining('volume is gone, and with it the rows') as string });
  expect(await folder.files()).not.toContain('volume');
  expect(service.requests.length).toBe(asked);
  await rename(folder.at('unmounted'), folder.at('volume'));
  expect(await folder.run(args(APART))).toMatchObject({ code: 0, stderr: '' });
  expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
});

test('an empty folder in its place has the rows written again, from the ledger', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  await stopped(world, 'SIGTERM');
  await rm(folder.at('volume'), { recursive: true });
  await mkdir(folder.at('volume'));
  const ended = await folder.run(args(APART));
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining('its rows are written again, from the ledger') as string });
  expect([...service.asked].filter(([, times]) => times > 1)).toEqual([]);
});

test.each([
  ['SIGTERM', 'state/answers.ledger', 'answers.ledger is gone: what was paid for is asked for again where its row is not written yet'],
  ['SIGKILL', 'state/answers.ledger-wal', 'answers.ledger-wal is gone: what was paid for is asked for again'],
] as const)('after %s, a resume says that %s is gone, and goes on', async (signal, lost, said) => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, args } = world;
  await stopped(world, signal);
  await rm(folder.at(lost));
  const ended = await folder.run(args(APART));
  expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining(said) as string });
});

const NONE = /^warning: the ledger \S+ has none of the \d+ lookups of this job: what was paid for is asked for again/m;

test('a shard says that the file of its ledger is gone, and goes on', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, args } = world;
  const shard = { shard: '0/2' };
  await stopped(world, 'SIGTERM', shard, {}, 60);
  await rm(folder.at('state/answers.ledger'));
  expect(await folder.run(args({ ...APART, ...shard }))).toMatchObject({ code: 0, stderr: expect.stringMatching(NONE) as string });
});

await describeWith('redis', 'a ledger in Redis', (facts) => {
  test('a resume on another machine says that the ledger was emptied', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, args } = world;
    const ledger = await freeDatabase(facts);
    await stopped(world, 'SIGTERM', { ledger, scratch: 'one' });
    const client = new Redis(ledger);
    await client.flushdb();
    client.disconnect();
    const ended = await folder.run(args({ ...APART, ledger, scratch: 'other' }));
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(NONE) as string });
  });
});

await describeWith('s3', 'a ledger in S3', (facts) => {
  test('a resume on another machine says that the ledger was emptied', async () => {
    const world = await makeWorld(toCsv(ROWS));
    const { folder, args } = world;
    const bucket = await makeBucket(facts);
    const env = s3Environment(facts);
    const ledger = `s3://${bucket.name}/answers/`;
    await stopped(world, 'SIGTERM', { ledger, scratch: 'one' }, env);
    for (const Key of await bucket.names('answers/')) await bucket.client.send(new DeleteObjectCommand({ Bucket: bucket.name, Key }));
    const ended = await folder.run(args({ ...APART, ledger, scratch: 'other' }), { env });
    expect(ended).toMatchObject({ code: 0, stderr: expect.stringMatching(NONE) as string });
  });
});
