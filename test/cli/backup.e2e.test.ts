/** A backup taken while the store is served and written, and a restore from it. */
import { readdir, stat, writeFile } from 'node:fs/promises';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ensureRoot } from '../services/debian.ts';
import { mountSmallDisk } from '../services/tmpfs.ts';
import { Folder } from '../support/cli.ts';
import { createKey, serve } from '../support/served.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import { copyStoreFiles, removeStoreFiles } from '../support/store-files.ts';

const ROWS = 6_000;

let folder: Folder;
let key = '';
beforeAll(async () => {
  folder = await Folder.make();
  await writeFile(folder.at('crm.csv'), `email,name\nada@acme.example,Ada Example\n`);
  await writeFile(
    folder.at('more.csv'),
    `email,name\n${Array.from({ length: ROWS }, (_, n) => `p${n}@more.example,Person ${n}\n`).join('')}`,
  );
  await folder.run(['import', '--store', 's.sqlite', '--contacts', 'crm.csv']);
  key = await createKey(folder, 's.sqlite', '--plan', 'growth', '--credits', '1000000');
});
afterAll(() => folder.remove());

async function enrich(url: string, idempotencyKey: string): Promise<{ status: number; replayed: boolean; remaining: number }> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': idempotencyKey };
  const response = await fetch(`${url}/v1/enrich`, { method: 'POST', headers, body: '{"email":"ada@acme.example"}' });
  await response.arrayBuffer();
  return {
    status: response.status,
    replayed: response.headers.has('idempotency-replayed'),
    remaining: Number(response.headers.get('x-ratelimit-remaining')),
  };
}

it('a backup is a consistent, complete, private copy that serves the same people, keys and stored answers', async () => {
  const service = await serve(folder, ['--store', 's.sqlite']);
  expect(await enrich(service.url, 'before')).toMatchObject({ status: 200, replayed: false });
  const importing = folder.start(['import', '--store', 's.sqlite', '--contacts', 'more.csv']).ended;
  const backedUp = new AbortController();
  const load = (async () => {
    for (let n = 0; !backedUp.signal.aborted; n++) expect([200, 429]).toContain((await enrich(service.url, `k${n}`)).status);
  })();
  const made = await folder.run(['export', '--store', 's.sqlite', '--backup', 'b.sqlite']);
  backedUp.abort();
  await load;
  expect((await importing).code).toBe(0);
  const [{ size, mode }, books] = [await stat(folder.at('b.sqlite')), await stat(folder.at('b.books.sqlite'))];
  expect([made.code, JSON.parse(made.stdout), mode & 0o777]).toEqual([
    0,
    { backup: 'b.sqlite', bytes: size + books.size, batches: { files: 0, bytes: 0 } },
    0o600,
  ]);
  expect((await folder.files()).filter((name) => name.includes('partial'))).toEqual([]);
  service.kill('SIGTERM');
  await service.ended;

  const copy = openStore(folder.at('b.sqlite'));
  const one = (sql: string, file: DatabaseSync = copy): unknown => Object.values(file.prepare(sql).get() ?? {})[0];
  expect(one('PRAGMA integrity_check')).toBe('ok');
  // It has complete transactions of the import, and the search index of the same moment.
  expect(one('SELECT (SELECT count(*) FROM people) - (SELECT count(*) FROM person_term_lists)')).toBe(0);
  // A charge and its stored answer belong together.
  expect(one('SELECT (SELECT credits_used FROM keys) - (SELECT count(*) FROM answers WHERE status = 200)', copy.books)).toBe(0);
  copy.close();

  // The backup replaces the store.
  removeStoreFiles(folder.at('s.sqlite'));
  copyStoreFiles(folder.at('b.sqlite'), folder.at('s.sqlite'));
  const restored = await serve(folder, ['--store', 's.sqlite']);
  expect(await enrich(restored.url, 'before')).toMatchObject({ status: 200, replayed: true });
  restored.kill('SIGTERM');
  expect((await restored.ended).code).toBe(0);
});

it('a backup reports a missing store, the store itself as target, and an unwritable target', async () => {
  const codes = [];
  for (const args of [
    ['--store', 'none.sqlite', '--backup', 'x.sqlite'],
    ['--store', 's.sqlite', '--backup', './s.sqlite'],
    ['--store', 's.sqlite', '--backup', 'crm.csv/b.sqlite'],
    ['--store', 's.sqlite', '--backup', 'x', '--contacts', 'y.csv'],
  ]) {
    codes.push((await folder.run(['export', ...args])).code);
  }
  expect(codes).toEqual([65, 64, 74, 64]);
});

it('a backup replaces an earlier one, makes its folder, and never replaces a store in use', async () => {
  for (const name of ['backups/today.sqlite', 'backups/today.sqlite'])
    expect((await folder.run(['export', '--store', 's.sqlite', '--backup', name])).code).toBe(0);
  const [inUse, open] = ['backups/today.sqlite', new DatabaseSync(folder.at('backups', 'today.sqlite'))];
  open.exec('CREATE TABLE not_yet_moved (n)');
  expect(await folder.run(['export', '--store', 's.sqlite', '--backup', inUse])).toMatchObject({
    code: 65,
    stdout: '',
    stderr: expect.stringContaining('is a store that is in use'),
  });
  expect(open.prepare('SELECT count(*) AS n FROM not_yet_moved').get()).toEqual({ n: 0 });
  open.close();
  expect((await folder.run(['export', '--store', 's.sqlite', '--backup', inUse])).code).toBe(0);
});

it.skipIf(!ensureRoot())('a backup leaves no file on a disk that is too small for it', async () => {
  // More than the page cache of SQLite, so that a journal exists.
  await writeFile(
    folder.at('many.csv'),
    `email,name\n${Array.from({ length: 18_000 }, (_, n) => `p${n}@many.example,Person ${n}\n`).join('')}`,
  );
  await folder.run(['import', '--store', 'large.sqlite', '--contacts', 'many.csv']);
  const disk = mountSmallDisk(folder.at('small'), '64k');
  expect(await folder.run(['export', '--store', 'large.sqlite', '--backup', 'small/b.sqlite'])).toMatchObject({
    code: 74,
    stderr: expect.stringContaining('cannot copy the store to small/b.sqlite'),
  });
  expect(await readdir(disk.path)).toEqual([]);
});
