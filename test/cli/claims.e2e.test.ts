/** Jobs that run at the same time on one ledger file: each person is asked for once. Real processes, killed and stopped by real signals. */
import { readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { Started } from '../support/cli.ts';
import { durableLookups } from '../support/crash-site.ts';
import { makeWorld, type World } from '../support/world.ts';

const SHARED = { ledger: 'shared.ledger', 'ledger.maxAgeDays': '30', 'max-errors': '100%', concurrency: '4' };
const people = (count: number, word = 'person'): string[] => Array.from({ length: count }, (_, i) => `${word}${i}@works${i % 40}.example`);
const csvOf = (emails: readonly string[]): string => `Work Email\n${emails.map((email) => `${email}\n`).join('')}`;

/** How many runs have a ledger file open. */
function holders(path: string): number {
  try {
    const db = new DatabaseSync(path, { readOnly: true });
    try {
      return Number(db.prepare('SELECT count(*) AS n FROM holders').get()?.['n']);
    } finally {
      db.close();
    }
  } catch {
    return 0;
  }
}

/** Starts jobs, and lets the service answer once all of them have the ledger open. */
async function startTogether({ folder, service }: World, runs: readonly string[][], ledger = 'shared.ledger'): Promise<Started[]> {
  const held: (() => void)[] = [];
  const usual = service.script;
  service.script = (...call) => held.push(() => usual(...call));
  const started = runs.map((run) => folder.start(run));
  await expect.poll(() => holders(folder.at(ledger))).toBe(runs.length);
  service.script = usual;
  for (const go of held) go();
  return started;
}

const twice = ({ service }: World): string[] => [...service.asked].filter(([, times]) => times > 1).map(([name]) => name);
const codes = async (runs: readonly Started[]): Promise<(number | null)[]> =>
  (await Promise.all(runs.map(({ ended }) => ended))).map(({ code }) => code);

test('two concurrent jobs look up 900 people once each, a purge in between disturbs neither, and each writes all rows', async () => {
  const world = await makeWorld(csvOf([...people(600), ...people(150, 'miss'), ...people(75, 'gone'), ...people(75, 'refused')]));
  const { folder, service, args } = world;
  service.latencyMs = 2;
  const run = (name: string): string[] => args({ ...SHARED, name, output: `${name}.csv`, steps: 'enrich', progress: 'log' });
  const both = await startTogether(world, [run('left'), run('right')]);
  await service.when(() => service.answered >= 300);
  expect(await folder.run(['ledger', 'purge', '--ledger', 'shared.ledger', '--older-than', '1d'])).toMatchObject({ code: 0 });
  expect(await codes(both)).toEqual([0, 0]);
  expect([service.asked.size, twice(world)]).toEqual([900, []]);
  const [left, right] = await Promise.all(['left.csv', 'right.csv'].map((name) => readFile(folder.at(name))));
  expect(left?.equals(right ?? Buffer.alloc(0))).toBe(true);
  const reports = await Promise.all(['left', 'right'].map((name) => folder.json(`${name}.csv.report.json`)));
  const lookups = reports.map((report) => report['lookups'] as { unique: number; fromLedger: number });
  expect(lookups.map(({ unique }) => unique)).toEqual([900, 900]);
  expect(lookups.reduce((sum, { fromLedger }) => sum + fromLedger, 0)).toBe(900);
  const [first] = await Promise.all(both.map(({ ended }) => ended));
  expect(first?.stderr).toContain('another run uses the ledger as well (process ');
  expect((await folder.files()).filter((name) => name.includes('-claims'))).toEqual([]);
});

test('after a kill only requests in flight are repeated, at most 2 % of 900 people, with the same Idempotency-Key', async () => {
  const world = await makeWorld(csvOf(people(900)));
  const { folder, service, args } = world;
  service.latencyMs = 4;
  let isHolding = true;
  const held: (() => void)[] = [];
  service.script = (_asked, _response, reply, usual) => {
    if (isHolding && service.answered >= 450) held.push(() => reply(usual()));
    else reply(usual());
  };
  const run = (name: string): string[] => args({ ...SHARED, name, output: `${name}.csv`, steps: 'enrich' });
  const [killed, other] = await startTogether(world, [run('left'), run('right')]);
  await service.when(() => held.length === 8);
  // An answer reaches the other job within milliseconds; a loaded machine takes longer.
  await expect.poll(async () => (await durableLookups(folder.at('shared.ledger'))).size >= service.answered).toBe(true);
  killed?.kill('SIGKILL');
  await killed?.ended;
  isHolding = false;
  for (const answer of held) answer();
  expect(await other?.ended).toMatchObject({ code: 0 });
  expect(await folder.run(run('left'))).toMatchObject({ code: 0 });
  expect(service.asked.size).toBe(900);
  expect(twice(world).length).toBeLessThanOrEqual(18);
  // These were unanswered. A service that honours the key charges for each once.
  expect(twice(world).length).toBeGreaterThan(0);
  expect([...service.idempotencyKeys].filter(([, keys]) => keys.size > 1)).toEqual([]);
  expect(await readFile(folder.at('left.csv'))).toEqual(await readFile(folder.at('right.csv')));
});

test('three jobs verify the same addresses in different orders with partly filled requests, and no address twice', async () => {
  const world = await makeWorld();
  const { folder, service, args } = world;
  const emails = people(600);
  const orders = { up: emails, down: emails.toReversed(), middle: [...emails.slice(300), ...emails.slice(0, 300)] };
  for (const [name, order] of Object.entries(orders)) await writeFile(folder.at(`${name}.csv`), csvOf(order));
  const all = await startTogether(
    world,
    Object.keys(orders).map((name) => args({ ...SHARED, name, input: `${name}.csv`, output: `${name}-out.csv`, steps: 'verify' })),
  );
  expect(await codes(all)).toEqual([0, 0, 0]);
  expect([service.asked.size, twice(world)]).toEqual([600, []]);
});

test('two jobs with every step send each lookup of each step once', async () => {
  const world = await makeWorld(
    `Work Email,LinkedIn\n${people(150)
      .map((email, i) => `${email},linkedin.com/in/person${i}\n`)
      .join('')}`,
  );
  const { args } = world;
  const both = await startTogether(
    world,
    ['left', 'right'].map((name) => args({ ...SHARED, name, output: `${name}.csv`, steps: 'enrich,verify,company,reveal' })),
  );
  expect(await codes(both)).toEqual([0, 0]);
  expect(twice(world)).toEqual([]);
});

test('shards of one job whose parts have the same people look up each person once', async () => {
  const world = await makeWorld(csvOf([...people(150), ...people(150)]));
  const { folder, service, args } = world;
  const shards = await startTogether(
    world,
    [0, 1].map((index) => args({ 'max-errors': '100%', concurrency: '4', steps: 'enrich', shard: `${index}/2` })),
    'out.csv.ledger',
  );
  expect(await codes(shards)).toEqual([0, 0]);
  expect([service.asked.size, twice(world)]).toEqual([150, []]);
  expect((await folder.json('out.csv.report.json'))['lookups']).toEqual({ unique: 150, fromLedger: 0 });
});

test("SIGTERM stops a job that waits for another job's answers, and no claim of it stays behind", async () => {
  const world = await makeWorld(csvOf(people(4)));
  const { folder, service, args } = world;
  const held: (() => void)[] = [];
  service.script = (_asked, _response, reply, usual) => held.push(() => reply(usual()));
  const run = (name: string): string[] => args({ ...SHARED, name, output: `${name}.csv`, steps: 'enrich', progress: 'log' });
  const asks = folder.start(run('asks'));
  await service.when(() => service.requests.length === 4);
  const waits = folder.start(run('waits'));
  await waits.says('ledger_shared');
  waits.kill('SIGTERM');
  expect(await waits.ended).toMatchObject({ code: 75 });
  expect([service.requests.length, holders(folder.at('shared.ledger'))]).toEqual([4, 1]);
  for (const go of held) go();
  expect(await asks.ended).toMatchObject({ code: 0 });
  expect(await folder.run(run('waits'))).toMatchObject({ code: 0 });
  expect(service.requests.length).toBe(4);
});
