/** `millrace check`, as an operator starts it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { BUNDLE, Folder } from '../support/cli.ts';
import { serve } from '../support/served.ts';
import { pagesOf, zeroPage } from '../service/admin/check/damage.ts';
import { makeFullStore } from '../service/admin/check/full-store.ts';
import { copyStoreFiles } from '../support/store-files.ts';

let folder: Folder;
beforeAll(async () => {
  folder = await Folder.make();
  makeFullStore(folder.at());
  await folder.run(['export', '--store', 'whole.sqlite', '--backup', 'b.sqlite']);
});
afterAll(() => folder.remove());

it('check finds damage beside a running service, refuses to repair meanwhile, and repairs once the service has ended', async () => {
  copyStoreFiles(folder.at('whole.sqlite'), folder.at('s.sqlite'));
  zeroPage(folder.at('s.sqlite'), pagesOf(folder.at('s.sqlite'), 'people').leaves[2] as number);
  const service = await serve(folder, ['--store', 's.sqlite']);
  expect(await folder.run(['check', '--store', 's.sqlite'])).toMatchObject({
    code: 65,
    stdout: expect.stringMatching(/people that cannot be read: \d+;.*\nnext: millrace check --store s\.sqlite --restore BACKUP\n$/s),
    stderr: expect.stringContaining('is damaged in 1 place'),
  });
  expect(await folder.run(['check', '--store', 's.sqlite', '--restore', 'b.sqlite'])).toMatchObject({ code: 75, stdout: '' });
  service.kill('SIGTERM');
  await service.ended;
  expect(await folder.run(['check', '--store', 's.sqlite', '--restore', 'b.sqlite'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      new RegExp(
        String.raw`^s\.sqlite: made anew, with \S*b\.sqlite\n {2}the damaged file is \S+s\.sqlite\.damaged-\S+: .*\n` +
          String.raw` {2}the books as they were are \S+: .*\n` +
          String.raw` {2}people: \d+ kept, \d+ from the backup\n$`,
      ),
    ),
  });
  expect(await folder.run(['check', '--store', 's.sqlite', '--json'])).toMatchObject({
    code: 0,
    stdout: '{"store":"s.sqlite","damaged":false,"findings":[],"next":null}\n',
    stderr: '',
  });
});

it.each([
  ['begins to write the new store', 'k1.sqlite', '.restoring'],
  ['has set the old one aside', 'k2.sqlite', '.damaged-'],
])('a SIGKILL when a repair %s leaves the old store or the new one', async (_when, store, sign) => {
  const path = folder.at(store);
  copyStoreFiles(folder.at('whole.sqlite'), path);
  zeroPage(path, pagesOf(path, 'people').leaves[2] as number);
  const old = readFileSync(path).subarray(100);
  const restoring = spawn(process.execPath, [BUNDLE, 'check', '--store', store, '--restore', 'b.sqlite'], {
    cwd: folder.at(),
    stdio: 'ignore',
  });
  const ended = once(restoring, 'exit');
  await vi.waitFor(
    () => expect(restoring.exitCode !== null || readdirSync(folder.at()).some((name) => name.startsWith(store + sign))).toBe(true),
    { timeout: 60_000, interval: 1 },
  );
  restoring.kill('SIGKILL');
  await ended;
  const isOld = readFileSync(path).subarray(100).equals(old);
  expect((await folder.run(['check', '--store', store])).code).toBe(isOld ? 65 : 0);
  expect((await folder.run(['check', '--store', store, '--restore', 'b.sqlite'])).code).toBe(0);
  expect((await folder.run(['check', '--store', store])).code).toBe(0);
  expect(existsSync(`${path}.restoring`)).toBe(false);
});
