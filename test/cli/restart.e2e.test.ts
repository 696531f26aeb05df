/** A run starts Node again, as the same process, for the size of its heap: src/cli/heap.ts. */
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { leads, toCsv } from '../support/leads.ts';
import { makeFolder, makeWorld } from '../support/world.ts';

test.runIf(process.platform === 'linux').each([
  ['restarts Node in its own process with small semi-spaces and young objects, and signals still stop it', '', true],
  ['does not restart Node when NODE_OPTIONS chooses the semi-space size', '--max-semi-space-size=8', false],
])('a run %s', async (_, chosen, again) => {
  const { folder, service, args } = await makeWorld(toCsv(leads(20, 5)));
  service.script = () => undefined;
  const run = folder.start(args(), { env: { NODE_OPTIONS: chosen } });
  await service.sees(1);
  const words = (await readFile(`/proc/${run.child.pid}/cmdline`, 'utf8')).split('\0');
  expect(words.includes('--max-semi-space-size=16')).toBe(again);
  expect(words.includes('--no-allocation-site-pretenuring')).toBe(again && process.versions.node.startsWith('24.'));
  run.kill('SIGTERM');
  // Two signals of one kind may arrive as one, and the drain would take its 25 s.
  run.kill('SIGINT');
  expect((await run.ended).code).toBe(75);
});

test.runIf(process.platform === 'linux')(
  'a service restarts Node in its own process, with flags for fewer and shorter collections',
  async () => {
    const folder = await makeFolder();
    const run = folder.start(['serve', '--sample', '--port', '0'], { env: { NODE_OPTIONS: '' } });
    await run.says('"serving"');
    const words = (await readFile(`/proc/${run.child.pid}/cmdline`, 'utf8')).split('\0');
    expect(words).toEqual(
      expect.arrayContaining(['--max-semi-space-size=16', '--heap-growing-percent=200', '--no-allocation-site-pretenuring']),
    );
    expect(JSON.parse(run.stdout())).toMatchObject({ pid: run.child.pid });
    run.kill('SIGTERM');
    expect((await run.ended).code).toBe(0);
  },
);
