/** A job over several providers, as its owner meets it. */
import { expect, test } from 'vitest';
import { makeFolder } from '../support/world.ts';
import { checkpoint, definition, keys, run, start, writeJob, writePeople, type ProviderJob } from './jobs.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import { startPromises } from './stand-ins/promises.ts';

const number = (key: string): number => Number(/\d+/.exec(key)?.[0]);

test('a retry asks each provider only for what has failed, and the job counts it once', async () => {
  const folder = await makeFolder();
  const people = await start(startPeopleDataLabs, { knows: (_person: unknown, i: number) => i % 2 === 0 });
  const promises = await start(startPromises, { knows: (_person: unknown, i: number) => i % 4 !== 3 });
  const job: ProviderJob = {
    providers: {
      people: { use: definition('person'), baseUrl: `${people.url}/v5` },
      promises: { use: definition('promises'), baseUrl: promises.url },
    },
    steps: [{ enrich: { from: ['people', 'promises'] } }, { verify: { from: ['promises'] } }],
  };
  await Promise.all([writePeople(folder, 60), writeJob(folder, job)]);
  const refusedBy = (email: string | null, rest: number): boolean => number(email ?? '') % 10 === rest;
  people.hook = ({ query }) => (refusedBy(query.get('email'), 3) ? { status: 422, body: {} } : null);
  promises.hook = ({ path, body }) =>
    path === '/lookups' && refusedBy((body as { email: string }).email, 1) ? { status: 422, body: {} } : null;
  expect(await run(folder, job)).toMatchObject({ code: 0 });
  const before = await checkpoint(folder);
  // 3, 23, 43 are refused by one and found by none of the two; 13, 33, 53 are found by the second; the second refuses 1, 11 ...
  expect(before.mark.tally.outcomes).toMatchObject({ failed: 3 + 6 });
  people.hook = promises.hook = null;
  const [asked, promised] = [people.calls.length, promises.calls.length];
  expect(await folder.run(['retry', 'job.yaml', '--progress', 'none'], { env: keys('people', 'promises') })).toMatchObject({
    code: 0,
    stderr: '',
  });
  expect(people.calls.slice(asked).map(({ query }) => number(query.get('email') ?? ''))).toEqual([3, 23, 43]);
  const again = promises.calls.slice(promised).filter(({ path }) => path === '/lookups');
  expect(again.map(({ body }) => number((body as { email: string }).email))).toEqual([1, 11, 21, 31, 41, 51]);
  const { outcomes, providers } = (await checkpoint(folder)).mark.tally;
  expect(outcomes).toMatchObject({ matched: 45, no_match: 15, failed: 0 });
  // The first provider was not asked again for the three that the second had found.
  expect(providers?.enrich).toMatchObject({
    people: { asked: 60, matched: 30, missed: 27, failed: 3 },
    promises: { asked: 30, matched: 15, missed: 15, failed: 0 },
  });
  expect(providers?.verify).toMatchObject({ promises: { asked: 60, matched: 60 } });
});
