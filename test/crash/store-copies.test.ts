/** Backup and restore of the two files of a store, with a SIGKILL before any write. */
import { readdirSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { catchUp } from '../../src/service/erasure/catch-up.ts';
import { booksOf } from '../../src/service/store/owner/store-name.ts';
import type { Folder } from '../support/cli.ts';
import { sampleOf } from '../support/sample.ts';
import { copyStoreFiles, removeStoreFiles } from '../support/store-files.ts';
import { pagesOf, zeroPage } from '../service/admin/check/damage.ts';
import { expectWhole, folderWithStore, killedAt, rowsOf, using } from './killed-store.ts';

const ERASED = 'person3@acme.example';
const KILLS = 4;
const longTimeout = { timeout: 600_000 };

let folder: Folder;
beforeAll(async () => {
  folder = await folderWithStore();
});
afterAll(() => folder.remove());

/** The rows of both files, apart from the times of erasures. */
const contentOf = (path: string): Record<string, unknown> =>
  using(path, (store) => ({
    ...rowsOf(store),
    ...rowsOf(store.books),
    sqlite_sequence: null,
    suppressions: store.books.prepare('SELECT hex(email_sha256) FROM suppressions ORDER BY 1').all(),
  }));

function forget(name: string): void {
  removeStoreFiles(folder.at(name));
  for (const file of readdirSync(folder.path)) if (file.startsWith(`${name}.`)) rmSync(folder.at(file), { recursive: true });
}

/** The numbers of some writes. */
const some = (writes: readonly string[]): readonly number[] =>
  sampleOf(
    writes.map((_, at) => at + 1),
    KILLS,
  );

it('a backup that is killed before any write leaves an earlier one whole, and the next one is complete', longTimeout, async () => {
  copyStoreFiles(folder.at('divided.sqlite'), folder.at('b.sqlite'));
  await folder.run(['export', '--store', 'b.sqlite', '--backup', 'first.sqlite']);
  const first = contentOf(folder.at('first.sqlite'));
  await folder.run(['suppress', '--store', 'b.sqlite', ERASED]);
  const second = contentOf(folder.at('b.sqlite'));
  expect(second).not.toEqual(first);
  const copy = ['export', '--store', 'b.sqlite', '--backup', 'copy.sqlite'];
  const begin = (): void => {
    forget('copy.sqlite');
    copyStoreFiles(folder.at('first.sqlite'), folder.at('copy.sqlite'));
  };
  begin();
  const { writes } = await killedAt(folder, 0, copy);
  expect(writes.filter((write) => write.startsWith('rename'))).toHaveLength(2);
  // The kill between both files is always tried.
  const between = 1 + writes.findLastIndex((write) => write.startsWith('rename'));
  for (const nth of new Set([between, ...some(writes)])) {
    begin();
    await killedAt(folder, nth, copy);
    const [path, what] = [folder.at('copy.sqlite'), `killed before ${writes[nth - 1] ?? ''}`];
    // The backup is a store: what serves it does this first.
    using(path, (store) => catchUp(store, path));
    expect([first, second], what).toContainEqual(contentOf(path));
    await expectWhole(path);
    await folder.run(copy);
    expect(contentOf(path), what).toEqual(second);
    await expectWhole(path);
  }
});

it('a restore that is killed before any write is completed by the same command, and brings nobody back', longTimeout, async () => {
  copyStoreFiles(folder.at('divided.sqlite'), folder.at('r.sqlite'));
  await folder.run(['export', '--store', 'r.sqlite', '--backup', 'backup.sqlite']);
  await folder.run(['suppress', '--store', 'r.sqlite', ERASED]);
  for (const [file, table] of [
    [folder.at('r.sqlite'), 'people'],
    [booksOf(folder.at('r.sqlite')), 'webhook_deliveries'],
  ] as const) {
    const { root, leaves } = pagesOf(file, table);
    zeroPage(file, leaves[0] ?? root);
  }
  const restore = ['check', '--store', 'd.sqlite', '--restore', 'backup.sqlite'];
  const begin = (): void => {
    forget('d.sqlite');
    copyStoreFiles(folder.at('r.sqlite'), folder.at('d.sqlite'));
  };
  begin();
  const { writes } = await killedAt(folder, 0, restore);
  const whole = contentOf(folder.at('d.sqlite'));
  expect(JSON.stringify(whole)).not.toContain(ERASED);
  await expectWhole(folder.at('d.sqlite'));
  // The kill between both files is always tried.
  const between = 1 + writes.findIndex((write) => write === 'rename d.sqlite.restoring');
  for (const nth of new Set([between, ...some(writes)])) {
    begin();
    await killedAt(folder, nth, restore);
    await folder.run(restore);
    expect(contentOf(folder.at('d.sqlite')), `killed before ${writes[nth - 1] ?? ''}`).toEqual(whole);
    await expectWhole(folder.at('d.sqlite'));
  }
});
