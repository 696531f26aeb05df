/** Every file that a run makes beside its output counts as the job's own, so that no glob reads it as input. */
import { watch } from 'node:fs';
import { expect, test } from 'vitest';
import { jobPaths, ownFiles } from '../../../src/job/lifecycle/paths.ts';
import { leads, toCsv } from '../../support/leads.ts';
import { makeWorld } from '../../support/world.ts';
import { compiled, LEAST } from '../../definition/support.ts';

test('every file seen while a job runs, is killed, resumed and extended is one of its own files', async () => {
  const rows = leads(200, 29);
  const { folder, service, args } = await makeWorld();
  const stdin = toCsv(rows);
  const names = new Set<string>();
  const watcher = watch(folder.path, (_event, name) => names.add(name ?? ''));
  service.latencyMs = 1;
  const flags = { input: '-', 'max-errors': '100%' };
  const first = folder.start(args({ ...flags, limit: '100' }), { stdin });
  await service.sees(50);
  first.kill('SIGKILL');
  await first.ended;
  for (const limit of ['100', '150', false]) expect(await folder.run(args({ ...flags, limit }), { stdin })).toMatchObject({ code: 0 });
  watcher.close();
  const isOwn = ownFiles(jobPaths(compiled({ flags: { ...LEAST, output: folder.at('out.csv') } }), { scratch: null }));
  expect(names.size).toBeGreaterThan(10);
  expect([...names].filter((name) => !isOwn(folder.at(name)))).toEqual([]);
});
