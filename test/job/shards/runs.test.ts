/** The shards of a job together write, byte for byte, the output of one run. */
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/util/errors.ts';
import { csvJob, SHAPES } from '../../support/crash-jobs.ts';
import { leads, seeded } from '../../support/leads.ts';
import { freeDatabase } from '../../ledger/shared.ts';
import { describeWith } from '../../services/needed.ts';
import { InProcess } from './world.ts';
import { SEED } from '../../support/seed.ts';

const random = seeded(SEED);

async function inShards(world: InProcess, output: string, of: number): Promise<void> {
  const order = Array.from({ length: of }, (_, index) => index).sort(() => random() - 0.5);
  for (const index of order) expect(await world.run(output, { index, of })).toBe(EXIT.ok);
}

/** Cases that differ with each seed, and one whose output has more than one gzip member. */
const CASES = [
  ...SHAPES.map((shape) => ({ name: shape.name, shape, of: 2 + Math.floor(random() * 4), rows: 20 + Math.floor(random() * 80) }))
    .sort(() => random() - 0.5)
    .slice(0, 4),
  ...SHAPES.filter(({ name }) => name === 'in.csv.gz to csv.zst, verify alone').map((shape) => ({
    name: shape.name,
    shape,
    of: 2,
    rows: 6_000,
  })),
];

describe(`a job in shards (SEED=${SEED})`, () => {
  test.each(CASES)('gives the bytes of one run: $name, $rows rows in $of shards', async ({ shape, of, rows }) => {
    const job = shape.job(leads(rows, SEED));
    const world = await InProcess.with(job);
    const single = job.output.replace('out.', 'whole.');
    expect(await world.run(single)).toBe(EXIT.ok);
    const asked = [...world.service.asked.keys()].sort();
    world.service.forget();
    await inShards(world, job.output, of);
    expect(await world.outcome(job.output)).toEqual(await world.outcome(single));
    // Each lookup once, although several shards may have the key.
    expect([...world.service.asked.keys()].sort()).toEqual(asked);
    expect(world.service.repeated).toBe(0);
    // Steps without calls are left out.
    expect((await world.folder.json(`${job.output}.report.json`))['calls']).toEqual(world.service.callsMade);
    expect(await world.left()).toEqual([]);
    // A further run has nothing to do, in shards or in one piece.
    world.service.forget();
    for (const shard of [{ index: 0, of }, { index: 1, of: of + 1 }, null]) expect(await world.run(job.output, shard)).toBe(EXIT.ok);
    expect(world.service.requests).toEqual([]);
  });

  test.each([
    ['fewer records than shards', 'Name,Work Email\na,a@works.example\nb,bad\n', 'out.csv.gz'],
    ['a header alone', 'Name,Work Email\n', 'out.csv'],
    ['an empty input', '', 'out.jsonl.zst'],
  ])('gives the result of one run with %s', async (_what, content, output) => {
    const world = await InProcess.with({ files: { 'in.csv': content }, flags: { input: 'in.csv' }, output });
    const single = output.replace('out.', 'whole.');
    await world.run(single);
    await inShards(world, output, 3);
    expect(await world.left()).toEqual([]);
    const [one, other] = await Promise.all([single, output].map((name) => world.folder.json(`${name}.report.json`)));
    expect(other).toMatchObject({
      records: one?.['records'],
      lookups: one?.['lookups'],
      output: { ...(one?.['output'] as object), uri: world.folder.at(output) },
    });
  });

  test('takes the first records of the whole input with a limit, which can be raised half-way and after the end', async () => {
    const world = await InProcess.with(csvJob(leads(60, SEED)));
    for (const limit of ['25', '40']) expect(await world.run(`whole-${limit}.csv`, null, { limit })).toBe(EXIT.ok);
    await world.run('whole.csv');
    const of = 4;
    // The first two shards with the lower limit, then all with the higher one.
    for (const index of [0, 1]) await world.run('out.csv', { index, of }, { limit: '25' });
    for (const index of [3, 2, 1]) await world.run('out.csv', { index, of }, { limit: '40' });
    await expect(world.run('out.csv', { index: 1, of }, { limit: '20' })).rejects.toMatchObject({
      exitCode: EXIT.config,
      code: 'job_changed',
    });
    await world.run('out.csv', { index: 0, of }, { limit: '40' });
    expect(await world.outcome('out.csv')).toEqual(await world.outcome('whole-40.csv'));
    world.service.forget();
    for (const limit of ['40', '60']) await world.run('out.csv', null, { limit });
    expect((await world.outcome('out.csv')).bytes).toBe((await world.outcome('whole.csv')).bytes);
    expect(world.service.repeated).toBe(0);
  });

  test.each([
    ['in one piece', null],
    ['in shards, as many', 3],
    ['in shards, another number of them', 2],
  ])('continues a pilot %s with a higher limit: its answers are not asked for again, and its cost counts', async (_how, before) => {
    const rows = leads(60, SEED);
    const world = await InProcess.with(csvJob(rows));
    const pilot = async (output: string, of: number | null): Promise<void> => {
      for (const shard of of === null ? [null] : Array.from({ length: of }, (_, index) => ({ index, of })))
        await world.run(output, shard, { limit: '30' });
    };
    await pilot('whole.csv', null);
    await world.run('whole.csv');
    world.service.forget();

    await pilot('out.csv', before);
    const { startedAt } = await world.folder.json('out.csv.report.json');
    const sent = world.service.requests.length;
    // Without calls left nothing is sent, and the answers of the pilot are still used.
    for (const index of [0, 1, 2])
      await expect(
        world.run('out.csv', { index, of: 3 }, { 'max-calls': String(sent) }).then(
          (code) => (code === EXIT.ok ? 'through' : code),
          ({ code }: { code: string }) => code,
        ),
      ).resolves.toMatch(/^(?:through|max_calls)$/);
    expect(world.service.requests).toHaveLength(sent);
    // Versions that do not know a run before the shards refuse to continue.
    expect(await world.folder.json('out.csv.checkpoint.json.shards')).toMatchObject({ version: 2 });
    await inShards(world, 'out.csv', 3);
    expect(await world.outcome('out.csv')).toEqual(await world.outcome('whole.csv'));
    expect(world.service.repeated).toBe(0);
    expect(await world.folder.json('out.csv.report.json')).toMatchObject({ startedAt, calls: world.service.callsMade });
    expect((await world.folder.json('out.csv.checkpoint.json'))['callsAtMost']).toBe(world.service.requests.length);
    expect(await world.left()).toEqual([]);
  });
});

await describeWith('redis', 'a ledger in Redis, where each shard has a name of its own', (server) => {
  test('continues a pilot with a higher limit, and asks for its failures and unknown verdicts no more', async () => {
    const world = await InProcess.with(csvJob(leads(60, SEED), { ledger: await freeDatabase(server) }));
    await world.run('out.csv', null, { limit: '30' });
    await inShards(world, 'out.csv', 3);
    expect(world.service.repeated).toBe(0);
    expect(await world.folder.json('out.csv.report.json')).toMatchObject({ records: { total: 60 }, calls: world.service.callsMade });
  });
});
