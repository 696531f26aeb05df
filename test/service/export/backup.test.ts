import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { backupCommand } from '../../../src/service/export/backup.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { makeStore, temporaryFolder } from '../harness.ts';
import { load } from '../loading.ts';

it('never takes the place of a store that somebody opened while it was made', async () => {
  const from = await makeStore();
  const folder = await temporaryFolder();
  const to = join(folder, 'b.sqlite');
  const made = backupCommand(from, to, new AbortController().signal);
  const served = openStore(to);
  const [failure] = await Promise.all([made.catch((error: unknown) => error), load(served, [{ email: 'ada@acme.example' }])]);
  expect(failure).toMatchObject({ exitCode: 65, code: 'output_not_ours' });
  served.close();
  expect(await readFile(to, 'latin1')).toContain('ada@acme.example');
  expect(await readdir(folder)).toEqual(['b.sqlite']);
});
