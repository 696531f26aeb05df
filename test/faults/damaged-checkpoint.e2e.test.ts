/** A damaged checkpoint: the message tells what to do, and following it finishes the job without paying twice. */
import { readFile, rename, truncate, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { expect, test } from 'vitest';
import { sampleOf } from '../support/sample.ts';
import { makeWorld, type World } from '../support/world.ts';
import { expectAllFound, people } from './people.ts';
import { SEED } from '../support/seed.ts';

const RECORDS = 60;

type Damage = (path: string) => Promise<unknown>;

const DAMAGES: Readonly<Record<string, Damage>> = {
  'cut off': async (path) => truncate(path, 100),
  emptied: async (path) => truncate(path, 0),
  'filled with zeros': async (path) => writeFile(path, Buffer.alloc(4_096)),
  // The rows would continue at another position of the output.
  'changed by a bit in a number': async (path) =>
    writeFile(
      path,
      (await readFile(path, 'utf8')).replace(/"bytes":(\d)/, (_, digit: string) => `"bytes":${Number(digit) ^ 1}`),
    ),
  'changed by a bit in its first byte': async (path) => writeFile(path, (await readFile(path, 'utf8')).replace('{', 'z')),
  'replaced by other JSON': async (path) => writeFile(path, '{"name":"somebody else"}'),
};

/** A run that stopped in the middle, with everything durable. */
async function stopped({ folder, service, args }: World, more: Record<string, string>): Promise<void> {
  service.script = ({ number }, _response, reply, usual) => {
    if (number <= 25) reply(usual());
  };
  const run = folder.start(args({ steps: 'enrich', ...more }));
  await service.when(() => service.answered === 25 && service.unanswered.size > 0);
  run.kill('SIGTERM');
  run.kill('SIGINT');
  expect((await run.ended).code).toBe(75);
  service.script = (_asked, _response, reply, usual) => reply(usual());
  // Requests in flight were never answered, and cost nothing.
  service.forget();
}

/** Follows the message exactly. */
async function follow(stderr: string, { folder, args }: World, more: Record<string, string>): Promise<number | null> {
  if (stderr.includes('millrace run --fresh')) return (await folder.run(args({ steps: 'enrich', ...more, fresh: true }))).code;
  const files = /move away (.*); what was paid for stays in the ledger/.exec(stderr)?.[1]?.split(', ') ?? [];
  expect(files).not.toEqual([]);
  for (const file of files) await rename(file, `${file}.away`);
  return (await folder.run(args({ steps: 'enrich', ...more }))).code;
}

const CASES = Object.keys(DAMAGES).flatMap(
  (name) =>
    [
      [name, 'out.csv.checkpoint.json'],
      [name, 'elsewhere.json'],
    ] as const,
);

test.each(sampleOf(CASES, 3))(
  `%s (%s, SEED=${SEED}): the advice works, for a job that stopped and for one that finished`,
  async (name, checkpoint) => {
    const damage = DAMAGES[name] as Damage;
    const more: Record<string, string> = checkpoint === 'elsewhere.json' ? { checkpoint } : {};
    const world = await makeWorld(people(RECORDS));
    const { folder, service, args } = world;
    await stopped(world, more);
    for (const asked of [RECORDS - 25, 0]) {
      service.forget();
      await damage(folder.at(checkpoint));
      const refused = await folder.run(args({ steps: 'enrich', ...more }));
      expect(refused).toMatchObject({ code: 65, stderr: expect.stringContaining(basename(checkpoint)) });
      expect(await follow(refused.stderr, world, more)).toBe(0);
      await expectAllFound(folder, RECORDS);
      expect(service.requests.length).toBe(asked);
    }
  },
);

/** The Idempotency-Keys of requests since the service forgot them, by body. */
function keysOf({ service }: World): Map<string, string | null> {
  return new Map(service.requests.map(({ path, body, idempotencyKey }) => [`${path} ${body}`, idempotencyKey]));
}

test.each(['out.csv.checkpoint.json', 'out.csv.checkpoint.json.shards'])(
  '%s: a fresh start begins another generation, so the service replays no answer',
  async (damaged) => {
    const world = await makeWorld(people(damaged.endsWith('.shards') ? 6 : 3));
    const { folder, service, args } = world;
    const shard: Record<string, string> = damaged.endsWith('.shards') ? { shard: '0/2' } : {};
    // The answers of the run before are lost with its ledger.
    service.script = ({ number }, _response, reply, usual) => {
      if (number < 3) reply(usual());
    };
    const run = folder.start(args({ steps: 'enrich', ...shard }));
    await service.when(() => service.answered === 2 && service.unanswered.size > 0);
    run.kill('SIGTERM');
    run.kill('SIGINT');
    expect((await run.ended).code).toBe(75);
    service.script = (_asked, _response, reply, usual) => reply(usual());
    const first = keysOf(world);
    expect(first.size).toBe(3);
    await truncate(folder.at(damaged), 100);
    await rename(folder.at('out.csv.ledger'), folder.at('away'));
    service.forget();
    expect((await folder.run(args({ steps: 'enrich', ...shard, fresh: true }))).code).toBe(0);
    const second = keysOf(world);
    expect(second.size).toBe(3);
    for (const [body, key] of second) expect(key).not.toBe(first.get(body));
  },
);

test('a damaged checkpoint of a shard: shard 0 with --fresh starts over, and paid answers are not asked for again', async () => {
  const world = await makeWorld(people(RECORDS));
  const { folder, service, args } = world;
  const shard = (index: number, more: Record<string, string | boolean> = {}): Promise<{ code: number | null; stderr: string }> =>
    folder.run(args({ steps: 'enrich', shard: `${index}/2`, ...more }));
  expect((await shard(0)).code).toBe(0);
  const [part = ''] = (await folder.files()).filter((file) => file.endsWith('checkpoint.json.shard-0-of-2'));
  for (const damaged of [part, 'out.csv.checkpoint.json.shards']) {
    await truncate(folder.at(damaged), 100);
    expect(await shard(1)).toMatchObject({ code: 65, stderr: expect.stringContaining('millrace run --fresh') });
    expect((await shard(0, { fresh: true })).code).toBe(0);
  }
  expect((await shard(1)).code).toBe(0);
  await expectAllFound(folder, RECORDS);
  expect(service.repeated).toBe(0);
});
