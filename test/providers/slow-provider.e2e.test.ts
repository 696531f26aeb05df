/** A provider that is slow, or does not answer at all for a while. */
import { expect, test } from 'vitest';
import { makeFolder } from '../support/world.ts';
import { definition, keys, rowsOf, RUN, start, writeJob, writePeople, type ProviderJob } from './jobs.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import { startPromises } from './stand-ins/promises.ts';
import type { StandInReply } from './stand-ins/stand-in.ts';

const RECORDS = 60;
const number = (text: string | null): number => Number(/\d+/.exec(text ?? '')?.[0]);

test('a slow provider holds up only the records that wait for it', async () => {
  const folder = await makeFolder();
  const first = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i % 2 === 0 });
  const slow = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i % 4 === 1 });
  const last = await start(startPromises);
  const gate = Promise.withResolvers<void>();
  slow.hook = async (_call, usual): Promise<StandInReply> => {
    await gate.promise;
    return usual();
  };
  const job: ProviderJob = {
    // The order in which they are named says nothing of the order in which they are asked.
    providers: {
      slow: { use: definition('person'), baseUrl: `${slow.url}/v5`, concurrency: 2 },
      first: { use: definition('person'), baseUrl: `${first.url}/v5` },
      last: { use: definition('promises'), baseUrl: last.url },
    },
    steps: [{ enrich: { from: ['first', 'slow', 'last'] } }],
  };
  await Promise.all([writePeople(folder, RECORDS), writeJob(folder, job)]);
  const running = folder.start(RUN, { env: keys('first', 'slow', 'last') });
  // All others are looked up while two calls of the slow provider stay open.
  await first.when(() => first.counts.lookups === RECORDS);
  expect([slow.counts.requests, slow.counts.lookups, last.counts.requests]).toEqual([2, 0, 0]);
  gate.resolve();
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  expect(slow.calls.map(({ query }) => number(query.get('email')) % 2)).toEqual(Array.from({ length: RECORDS / 2 }, () => 1));
  expect((await rowsOf(folder)).map((row) => row['enrich.source'] !== '')).toEqual(Array.from({ length: RECORDS }, () => true));
});

test('a provider that throttles does not slow down the calls of another one', async () => {
  const folder = await makeFolder();
  const throttled = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i === 0 });
  const other = await start(startPeopleDataLabs);
  throttled.hook = ({ number: count }) => (count === 5 ? { status: 429, headers: { 'retry-after': '2' }, body: {} } : null);
  const job: ProviderJob = {
    providers: {
      throttled: { use: definition('person'), baseUrl: `${throttled.url}/v5`, concurrency: 1 },
      other: { use: definition('person'), baseUrl: `${other.url}/v5`, concurrency: 1 },
    },
    steps: [{ enrich: { from: ['throttled', 'other'] } }],
  };
  await Promise.all([writePeople(folder, 20), writeJob(folder, job)]);
  const running = folder.start(RUN, { env: keys('throttled', 'other') });
  await throttled.when(() => throttled.calls.some(({ status }) => status === 429));
  await other.when(() => other.counts.lookups === 3);
  expect(throttled.counts.requests).toBe(5);
  expect(await running.ended).toMatchObject({ code: 0 });
  expect(throttled.counts.refused429).toBe(1);
});
