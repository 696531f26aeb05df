/** The unfinished output is damaged on the disk between two runs. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { makeWorld } from '../support/world.ts';

const INPUT = `email\n${Array.from({ length: 300 }, (_, i) => `person${i}@works.example\n`).join('')}`;

test('a flipped bit in the unfinished output is not published: its rows are written again without new calls', async () => {
  const { folder, service, args } = await makeWorld(INPUT);
  const flags = { steps: 'enrich', concurrency: '4' };
  expect((await folder.run(args({ ...flags, output: 'expected.csv' }))).code).toBe(0);
  service.forget();
  const first = folder.start(args(flags));
  service.script = ({ number }, _response, reply, usual) => {
    if (number === 150) first.kill('SIGTERM');
    reply(usual());
  };
  expect((await first.ended).code).toBe(75);
  const partial = await readFile(folder.at('out.csv.partial'));
  partial[partial.length >> 1] = (partial[partial.length >> 1] ?? 0) ^ 1;
  await writeFile(folder.at('out.csv.partial'), partial);
  expect(await folder.run(args({ ...flags, progress: 'log' }))).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('out.csv.partial was damaged or changed from outside: its rows are written again, from the ledger'),
  });
  expect(await folder.read('out.csv')).toBe(await folder.read('expected.csv'));
  expect(service.repeated).toBe(0);
});
