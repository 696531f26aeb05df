/** Jobs that share one ledger: one after the other, at once, and with one of them killed. */
import { readFile, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { leads, toCsv, type Lead } from '../support/leads.ts';
import { makeWorld, startService, type World } from '../support/world.ts';

const ROWS = leads(500, 91);
const SHARED = { ledger: 'shared.ledger', 'ledger.maxAgeDays': '30', 'max-errors': '100%' };

/** Answers that are not shared: refused lookups and unknown verdicts. */
function settledAgain(world: World): string[] {
  const { asked } = world.service;
  return [...asked.keys()].filter((name) => name.startsWith('enrich') && !name.includes(' refused'));
}

async function outputOf(rows: readonly Lead[]): Promise<Buffer> {
  const world = await makeWorld(toCsv(rows));
  expect(await world.folder.run(world.args({ 'max-errors': '100%' }))).toMatchObject({ code: 0 });
  return readFile(world.folder.at('out.csv'));
}

test('a later job of another name reuses final answers, misses too, for the same origin, step, options and key', async () => {
  const world = await makeWorld(toCsv(ROWS));
  const { folder, service, args } = world;
  expect(await folder.run(args(SHARED))).toMatchObject({ code: 0 });
  const first = await readFile(folder.at('out.csv'));
  const settled = settledAgain(world);
  expect(settled.some((name) => name.includes(' miss'))).toBe(true);
  expect(settled.some((name) => name.includes(' gone'))).toBe(true);
  const unknown = [...service.asked.keys()].filter((name) => name.startsWith('verify')).length;

  service.forget();
  const other = { ...SHARED, name: 'another', output: 'second.csv' };
  expect(await folder.run(args(other))).toMatchObject({ code: 0 });
  expect(settledAgain(world)).toEqual([]);
  expect([...service.asked.keys()].filter((name) => name.includes(' refused')).length).toBeGreaterThan(0);
  // Only unknown verdicts are asked for again.
  const again = [...service.asked.keys()].filter((name) => name.startsWith('verify')).length;
  expect(again).toBeGreaterThan(0);
  expect(again).toBeLessThan(unknown / 2);
  expect(await readFile(folder.at('second.csv'))).toEqual(first);

  // The same person in another spelling.
  service.forget();
  await writeFile(
    folder.at('in.csv'),
    toCsv(ROWS).replaceAll(/person\d+-\d+@works\d+\.example/g, (address) => `  ${address.toUpperCase()}`),
  );
  expect(await folder.run(args({ ...other, output: 'third.csv', name: 'third' }))).toMatchObject({ code: 0 });
  expect(settledAgain(world)).toEqual([]);

  // Answers of one service are not used for another.
  const elsewhere = await startService();
  expect(await folder.run(args({ ...other, output: 'fourth.csv', name: 'fourth', 'base-url': elsewhere.url }))).toMatchObject({ code: 0 });
  expect([...elsewhere.asked.keys()].filter((name) => name.startsWith('enrich') && !name.includes(' refused')).length).toBe(settled.length);

  // Answers are a day too old.
  service.forget();
  const db = new DatabaseSync(folder.at('shared.ledger'));
  db.prepare('UPDATE answers SET at = at - ?').run(30 * 86_400_000);
  db.close();
  expect(await folder.run(args({ ...other, output: 'fifth.csv', name: 'fifth' }))).toMatchObject({ code: 0 });
  expect(settledAgain(world).length).toBe(settled.length);
});

test('two jobs on one ledger, one killed half-way and resumed, write complete outputs and lose no answer', async () => {
  const [left, right] = [ROWS.slice(0, 350), ROWS.slice(150)];
  const expected = await Promise.all([outputOf(left), outputOf(right)]);
  const world = await makeWorld();
  const { folder, service, args } = world;
  await writeFile(folder.at('left.csv'), toCsv(left));
  await writeFile(folder.at('right.csv'), toCsv(right));
  service.latencyMs = 2;
  const run = (side: string): string[] =>
    args({ ...SHARED, name: side, input: `${side}.csv`, output: `${side}-out.csv`, concurrency: '4' });
  const [killed, other] = [folder.start(run('left')), folder.start(run('right'))];
  await service.when(() => service.answered >= 200);
  killed.kill('SIGKILL');
  await killed.ended;
  expect(await other.ended).toMatchObject({ code: 0 });
  expect(await folder.run(run('left'))).toMatchObject({ code: 0 });
  expect(await Promise.all(['left', 'right'].map((side) => readFile(folder.at(`${side}-out.csv`))))).toEqual(expected);
  const db = new DatabaseSync(folder.at('shared.ledger'));
  expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  db.close();

  // A third job finds every final answer.
  service.forget();
  await writeFile(folder.at('all.csv'), toCsv(ROWS));
  expect(await folder.run(run('all'))).toMatchObject({ code: 0 });
  expect(settledAgain(world)).toEqual([]);
});
