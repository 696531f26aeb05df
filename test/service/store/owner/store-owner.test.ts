import { MIGRATIONS } from '../../../../src/service/store/schema/schema.ts';
import { once } from 'node:events';
import { copyFile, link, mkdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EXIT } from '../../../../src/util/errors.ts';
import { readRecord, recordPath, thisProcess, writeRecord, type OwnerRecord } from '../../../../src/service/store/owner/owner-record.ts';
import { booksOf } from '../../../../src/service/store/owner/store-name.ts';
import { StoreOwner } from '../../../../src/service/store/owner/store-owner.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { cleanUp } from '../../../support/clean-up.ts';
import { temporaryFolder } from '../../harness.ts';

let store: string;
beforeEach(async () => {
  store = join(await temporaryFolder(), 'store.sqlite');
  openStore(store).close();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A clock that advances by a fixed step at each call, so that no test waits. */
function leaping(byMs = 30_000): () => number {
  let ms = 0;
  return () => (ms += byMs);
}

async function claimed(path = store): Promise<StoreOwner> {
  const owner = await StoreOwner.claim(path, { clock: leaping() });
  cleanUp(() => owner.release());
  return owner;
}

const refused = (path = store, clock = leaping()): Promise<unknown> =>
  StoreOwner.claim(path, { clock }).then(
    () => 'claimed',
    (error: unknown) => error,
  );

/** The record of another process's owner, with a lock that is free or unreachable. */
async function leave(more: Partial<OwnerRecord>): Promise<void> {
  await writeRecord(store, { ...thisProcess(Date.now()), pid: 1, ...more });
}

it('a second owner ends with 75, and its message names the first one', async () => {
  const first = await claimed();
  await first.publishUrl('http://127.0.0.1:8080');
  const { since } = (await readRecord(store)) as OwnerRecord;
  expect(await refused()).toMatchObject({
    exitCode: EXIT.stopped,
    code: 'store_held',
    message: `another process has the store ${store}: process ${process.pid} on ${hostname()}, since ${since}, at http://127.0.0.1:8080`,
  });
  expect(await StoreOwner.tryClaim(store)).toBeNull();
});

it('an owner in another container is named as such, because its process id means nothing here', async () => {
  await claimed();
  await leave({ pidSpace: 'pid:[1]' });
  expect(await refused()).toMatchObject({
    code: 'store_held',
    message: expect.stringContaining('process 1 of another container on '),
    hint: expect.stringContaining('where it runs'),
  });
});

it('a released store can be claimed by the next process, and by one that waits', async () => {
  const first = await claimed();
  let held: number | undefined;
  const next = StoreOwner.claim(store, {
    waits: true,
    clock: leaping(),
    onHeld: ({ pid }) => {
      held = pid;
      void first.release();
    },
  });
  await (await next).release();
  expect(held).toBe(process.pid);
  expect(await readRecord(store)).toBeNull();
  await claimed();
});

it('exactly one of many concurrent claims succeeds', async () => {
  const all = await Promise.all(Array.from({ length: 10 }, () => StoreOwner.tryClaim(store)));
  const [owner, ...others] = all.filter((one) => one !== null);
  await owner?.release();
  expect([owner !== undefined, others]).toEqual([true, []]);
});

it.each([
  [
    'a symbolic link in another folder',
    async (folder: string) => {
      await mkdir(join(folder, 'elsewhere'));
      await symlink(store, join(folder, 'elsewhere', 'link'));
      return join(folder, 'elsewhere', 'link');
    },
  ],
  [
    'a linked folder',
    async (folder: string) => {
      await symlink(folder, `${folder}-link`);
      cleanUp(() => rm(`${folder}-link`));
      return join(`${folder}-link`, basename(store));
    },
  ],
  ['a path with dots', (folder: string) => Promise.resolve(`${folder}/../${basename(folder)}/./${basename(store)}`)],
  ['a relative path', () => Promise.resolve(relative(process.cwd(), store))],
  [
    'a hard link',
    async (folder: string) => {
      await link(store, join(folder, 'a-name-before-it'));
      return join(folder, 'a-name-before-it');
    },
  ],
])('a store that is opened by %s has the same owner', async (_what, named) => {
  await claimed();
  // As a service registers it.
  const open = openStore(store);
  const other = await named(dirname(store));
  expect(await refused(other)).toMatchObject({ code: 'store_held' });
  const again = openStore(other);
  again.exec("INSERT INTO sources (name) VALUES ('by another name')");
  expect(open.prepare("SELECT count(*) AS n FROM sources WHERE name = 'by another name'").get()).toMatchObject({ n: 1 });
  again.close();
  open.close();
});

it.each(['another/made-later.sqlite', 'one-more-link'])(
  'a store that is created through a link has the same owner under both names: %s',
  async (target) => {
    const folder = dirname(store);
    await mkdir(join(folder, 'another'));
    await symlink('another/made-later.sqlite', join(folder, 'one-more-link'));
    await symlink(target, join(folder, 'link'));
    const owner = await claimed(join(folder, 'link'));
    openStore(owner.path).close();
    expect([await refused(join(folder, 'link')), await refused(join(folder, 'another', 'made-later.sqlite'))]).toMatchObject([
      { code: 'store_held' },
      { code: 'store_held' },
    ]);
  },
);

it('a store with a hard link in another folder is refused: SQLite would keep a second log for it', async () => {
  const other = join(await temporaryFolder(), 'other.sqlite');
  await link(store, other);
  expect(await refused()).toMatchObject({ exitCode: EXIT.input, code: 'store_linked' });
  expect(() => openStore(other)).toThrow(expect.objectContaining({ code: 'store_linked' }));
});

it('a claim fails with a clear error in a missing folder, and in one that is not writable', async () => {
  expect(await refused(join(store, 'in-a-file'))).toMatchObject({ exitCode: EXIT.input, code: 'store_missing' });
  await mkdir(`${store}.lock`);
  expect(await refused()).toMatchObject({ exitCode: EXIT.storage, code: 'store_unusable' });
});

it('a command of a newer version does not migrate a store that an older version serves', async () => {
  const newer = (): Store => openStore(store, undefined, false, [...MIGRATIONS, { version: 3, name: 'a later version', sql: '' }]);
  const reader = openStore(store);
  cleanUp(() => reader.close());
  const version = (): unknown => reader.prepare('PRAGMA user_version').get()?.['user_version'];
  const owner = await claimed();
  expect(newer).toThrow(expect.objectContaining({ exitCode: EXIT.storage, code: 'store_too_old' }));
  expect(version()).toBe(2);
  await owner.release();
  newer().close();
  expect(version()).toBe(3);
});

it('the record of a dead process blocks nobody, even if its process id is used again or was in another container', async () => {
  for (const more of [
    { processStart: '1' },
    { pid: process.pid, processStart: '1' },
    { pidSpace: 'pid:[1]' },
    { pidSpace: 'pid:[1]', host: 'another-container' },
  ]) {
    await leave(more);
    await (await claimed()).release();
  }
  await writeFile(recordPath(store), 'no record');
  await claimed();
});

it('a live process keeps its store after its lock file is removed', async () => {
  await leave({ pid: process.ppid, processStart: (await import('../../../../src/util/process-identity.ts')).processStart(process.ppid) });
  expect(await refused()).toMatchObject({ code: 'store_held', message: expect.stringContaining(`process ${process.ppid}`) as string });
});

it('an owner on another machine without shared locks keeps the store while it renews its record, whatever the clocks say', async () => {
  await leave({ machine: 'another', host: 'far-away' });
  const renewed = setInterval(() => void utimes(recordPath(store), 1, Math.random() * 1_000), 5);
  expect(await refused(store, leaping(1_000))).toMatchObject({
    code: 'store_held',
    message: expect.stringContaining('far-away') as string,
  });
  clearInterval(renewed);
  // Its clock was an hour ahead.
  await utimes(recordPath(store), Date.now() / 1_000 + 3_600, Date.now() / 1_000 + 3_600);
  await claimed();
});

it('an owner notices that its store was replaced, removed or taken by another machine', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const lost = async (harm: () => Promise<unknown>): Promise<unknown> => {
    const owner = await claimed();
    await owner.watchFiles();
    const heard = once(owner.lost, 'abort');
    await harm();
    vi.advanceTimersByTime(2_000);
    await heard;
    await owner.release();
    return owner.lost.reason;
  };
  expect(
    await lost(async () => {
      await copyFile(store, `${store}.copy`);
      await rename(`${store}.copy`, store);
    }),
  ).toMatchObject({ exitCode: EXIT.storage, code: 'store_moved', message: expect.stringContaining('replaced') as string });
  expect(await lost(() => rename(booksOf(store), `${store}.moved`))).toMatchObject({
    code: 'store_moved',
    message: expect.stringContaining('store.books.sqlite was removed') as string,
  });
  await rename(`${store}.moved`, booksOf(store));
  expect(await lost(() => leave({ machine: 'another', host: 'far-away' }))).toMatchObject({
    exitCode: EXIT.stopped,
    code: 'store_lost',
    message: expect.stringContaining('process 1 on far-away') as string,
  });
  await rm(recordPath(store));
  expect(await lost(() => rm(store))).toMatchObject({ code: 'store_moved', message: expect.stringContaining('removed') as string });
});
