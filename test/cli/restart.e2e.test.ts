/** A run starts Node again, as the same process, for the size of its heap: src/cli/heap.ts. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeWorld } from '../support/world.ts';

test.runIf(process.platform === 'linux').each([
  ['starts again with small semi-spaces, and is stopped as if it had always been that one', '', true],
  ['does not start again where their size is chosen', '--max-semi-space-size=8', false],
])('a run %s', async (_, chosen, again) => {
  const { folder, service, args } = await makeWorld(toCsv(leads(20, 5)));
  service.script = () => undefined;
  const run = folder.start(args(), { env: { NODE_OPTIONS: chosen } });
  await service.sees(1);
  const words = (await readFile(`/proc/${run.child.pid}/cmdline`, 'utf8')).split('\0');
  expect(words.includes('--max-semi-space-size=16')).toBe(again);
  run.kill('SIGTERM');
  // Two of a kind could arrive as one, and the drain would last its 25 s.
  run.kill('SIGINT');
  expect((await run.ended).code).toBe(75);
});
