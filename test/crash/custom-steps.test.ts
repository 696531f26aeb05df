/** A step that exists only as YAML, in three shards that share one quota in Redis, each killed and resumed. */
import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { freeDatabase } from '../ledger/shared.ts';
import { checkpoint, definition, keys, RUN, start, writeJob, writePeople } from '../providers/jobs.ts';
import { numberOf, startNumbers } from '../providers/stand-ins/numbers.ts';
import type { StandIn } from '../providers/stand-ins/stand-in.ts';
import { findPerson } from '../providers/stand-ins/world.ts';
import { describeWith } from '../services/needed.ts';
import type { Folder } from '../support/cli.ts';
import { makeFolder, startService } from '../support/world.ts';

const RECORDS = 180;
const SHARDS = ['0/3', '1/3', '2/3'] as const;
/** The vendor's window, for all shards together. */
const WINDOW = { name: 'second', limit: 20 } as const;
const env = { env: keys('service', 'numbers') };

interface World {
  readonly folder: Folder;
  readonly numbers: StandIn;
}

async function world(quota: string | null, windows: readonly (typeof WINDOW)[]): Promise<World> {
  const [folder, service] = await Promise.all([makeFolder(), startService()]);
  service.latencyMs = 3;
  service.script = ({ keys: [key = ''] }, _response, reply) => {
    const i = findPerson({ email: key }) ?? 0;
    reply({ status: 200, body: JSON.stringify({ name: `Person ${i}`, ...(i % 3 === 0 ? {} : { mobile: numberOf(i) }) }) });
  };
  const numbers = await start(startNumbers, { latencyMs: 3, windows });
  const paced = quota === null ? {} : { windows: [`${WINDOW.limit}/second`], quota };
  await Promise.all([
    writePeople(folder, RECORDS),
    writeJob(folder, {
      providers: {
        service: { use: 'millrace', baseUrl: service.url, plan: 'enterprise', concurrency: 4 },
        numbers: { use: definition('numbers'), baseUrl: numbers.url, concurrency: 4, ...paced },
      },
      steps: ['enrich', { phone: { by: ['enrich.mobile'], when: 'enrich.mobile is not empty' } }],
    }),
  ]);
  return { folder, numbers };
}

await describeWith('redis', 'shards of a job with a custom step', async (redis) => {
  test('killed and resumed they give the bytes of one run, and never go beyond the quota that they share', async () => {
    const whole = await world(null, []);
    expect(await whole.folder.run(RUN, env)).toMatchObject({ code: 0, stderr: '' });

    const { folder, numbers } = await world(await freeDatabase(redis), [WINDOW]);
    const kills = await Promise.all(
      SHARDS.map(async (shard, index) => {
        const killed = folder.start([...RUN, '--shard', shard], env);
        void numbers.when(() => numbers.counts.requests >= 10 * (index + 1)).then(() => killed.kill('SIGKILL'));
        const { signal } = await killed.ended;
        expect(await folder.start([...RUN, '--shard', shard], env).ended).toMatchObject({ code: 0 });
        return Number(signal === 'SIGKILL');
      }),
    );
    const killed = kills.reduce((sum, one) => sum + one, 0);
    expect(killed).toBe(SHARDS.length);
    expect(await folder.read('out.csv')).toBe(await whole.folder.read('out.csv'));
    expect((await checkpoint(folder)).mark.tally).toEqual((await checkpoint(whole.folder)).mark.tally);
    expect(numbers.counts.refused429).toBe(0);
    // A lookup is paid again only for a kill that may have lost its answer: four are in flight in each shard.
    const again = [...numbers.paidFor.values()].filter((times) => times > 1);
    expect(again.length).toBeLessThanOrEqual(4 * killed);
  });
});

test('a custom step that is killed twice resumes to the bytes of one run, with a ledger in a file', async () => {
  const whole = await world(null, []);
  await whole.folder.run(RUN, env);
  const { folder, numbers } = await world(null, []);
  for (const calls of [20, 60]) {
    const killed = folder.start(RUN, env);
    await numbers.when(() => numbers.counts.requests >= calls);
    killed.kill('SIGKILL');
    await killed.ended;
  }
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect(await folder.read('out.csv')).toBe(await whole.folder.read('out.csv'));
  // A finished job asks nothing, and one with other columns in its definition is another job.
  const { requests } = numbers.counts;
  expect(await folder.run(RUN, env)).toMatchObject({ code: 0 });
  expect(numbers.counts.requests).toBe(requests);
  const other = (await folder.read('job.yaml')).replace(JSON.stringify(definition('numbers')), '"./numbers.yaml"');
  await writeFile(folder.at('numbers.yaml'), `use: ${definition('numbers')}\noperations: {phone: {columns: {carrier: any}}}\n`);
  await writeFile(folder.at('job.yaml'), other);
  expect(await folder.run(RUN, env)).toMatchObject({ code: 78, stderr: expect.stringContaining('phone in its definition has changed') });
});
