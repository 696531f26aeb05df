/** Restores damaged and lost stores: newer rows stay, damaged ones come from the backup, and erased people stay away. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkStore } from '../../../../src/service/admin/check/check-store.ts';
import { backupCommand } from '../../../../src/service/admin/export/backup.ts';
import { restoreCommand } from '../../../../src/service/admin/restore/restore-command.ts';
import type { Restoration } from '../../../../src/service/admin/restore/restoration.ts';
import { loadPeople } from '../../../../src/service/store/rows/load.ts';
import { booksOf } from '../../../../src/service/store/owner/store-name.ts';
import { openStore } from '../../../../src/service/store/open-store.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { suppressCommand } from '../../../../src/service/admin/suppress-command.ts';
import { printed } from '../../../support/printed.ts';
import { sampleOf } from '../../../support/sample.ts';
import { KEY, serveStore, temporaryFolder } from '../../harness.ts';
import { cutShort, damagePage, flip, pagesOf, zeroPage } from '../check/damage.ts';
import { emailOf, makeFullStore, PEOPLE } from '../check/full-store.ts';
import { SEED } from '../../../support/seed.ts';
import { copyStoreFiles, removeStoreFiles } from '../../../support/store-files.ts';

const never = new AbortController().signal;
const folder = mkdtempSync(join(tmpdir(), 'millrace-restore-'));
const whole = makeFullStore(folder);
afterAll(() => rmSync(folder, { recursive: true }));

const [CHANGED, ADDED, ERASED] = [100, 5_000, 3];

/** A backup, and the store some time later: one person changed, one new, one erased, credits spent. */
async function later(): Promise<{ readonly path: string; readonly backup: string }> {
  const at = await temporaryFolder();
  const [path, backup] = [join(at, 's.sqlite'), join(at, 'b.sqlite')];
  copyStoreFiles(whole, path);
  await printed(() => backupCommand(path, backup, never));
  write(path, (store) => {
    loadPeople(
      store,
      [
        { id: `pe_${CHANGED}`, email: emailOf(CHANGED), name: `Person N${CHANGED}`, title: 'Chairwoman', company_domain: 'c1.example' },
        { id: `pe_${ADDED}`, email: emailOf(ADDED), name: `Person N${ADDED}` },
      ],
      'later',
    );
    store.books.exec("UPDATE keys SET credits_used = 7 WHERE label = 'key 1'");
  });
  await printed(() =>
    suppressCommand(
      path,
      (async function* () {
        yield [emailOf(ERASED)];
      })(),
    ),
  );
  return { path, backup };
}

function write(path: string, work: (store: Store) => void): void {
  const store = openStore(path);
  work(store);
  store.close();
}

function read<T>(path: string, sql: string): T[] {
  const store = openStore(path);
  const rows = (/ FROM keys/.test(sql) ? store.books : store).prepare(sql).all() as T[];
  store.close();
  return rows;
}

async function restored(path: string, backup: string | null): Promise<Restoration> {
  return JSON.parse(await printed(() => restoreCommand(path, backup, true, never))) as Restoration;
}

/** Checks that hold for every restored store. */
async function expectWhole(path: string): Promise<void> {
  expect((await checkStore(path, Date.now(), never)).findings).toEqual([]);
  expect(read(path, `SELECT id FROM people WHERE id = 'pe_${ERASED}'`)).toEqual([]);
  expect(read(path, `SELECT id FROM signals WHERE id = 'sg_${ERASED}'`)).toEqual([]);
  expect(readdirSync(dirname(path)).filter((name) => /restoring|partial/.test(name))).toEqual([]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
}

const idsOf = (path: string): Set<string> => new Set(read<{ id: string }>(path, 'SELECT id FROM people').map(({ id }) => id));
const everybody = (): Set<string> =>
  new Set([...Array.from({ length: PEOPLE }, (_, n) => n), ADDED].filter((n) => n !== ERASED).map((n) => `pe_${n}`));
const titleOf = (path: string): unknown =>
  read<{ title: string }>(path, `SELECT doc ->> '$.title' AS title FROM people WHERE id = 'pe_${CHANGED}'`)[0]?.title;

const LOSSES: readonly (readonly [what: string, damage: (path: string) => void])[] = [
  ['the header', (path: string) => flip(path, 1, 0, 100)],
  ['the first page', (path: string) => zeroPage(path, 1)],
  ['the end', (path: string) => cutShort(path, 0.4)],
  ['the end, in the middle of a page', (path: string) => cutShort(path, 0.4003)],
  [
    'a range of pages',
    (path: string) => {
      for (let page = 20; page < 60; page++) zeroPage(path, page);
    },
  ],
];

describe('a store with a damaged page', () => {
  it('rows that are newer than the backup stay, and only the damaged ones come from it', async () => {
    const { path, backup } = await later();
    zeroPage(path, pagesOf(path, 'people').leaves[2] as number);
    const bytes = readFileSync(path);
    const { old, tables, people_erased: erased } = await restored(path, backup);
    expect(tables.find(({ table }) => table === 'people')).toMatchObject({ kept: expect.any(Number), superseded: 0, lost: 0 });
    const people = tables.find(({ table }) => table === 'people') ?? expect.fail();
    expect([people.kept + people.restored, people.restored > 0, people.restored < 100, erased]).toEqual([PEOPLE, true, true, 0]);
    expect(tables.filter(({ table, restored: n }) => table !== 'people' && n > 0)).toEqual([]);
    await expectWhole(path);
    expect([idsOf(path), titleOf(path)]).toEqual([everybody(), 'Chairwoman']);
    expect(read(path, "SELECT credits_used AS n FROM keys WHERE label = 'key 1'")).toEqual([{ n: 7 }]);
    // Except for the journal mode in two bytes of the header, and the header's counters.
    expect(
      readFileSync(old ?? '')
        .subarray(100)
        .equals(bytes.subarray(100)),
    ).toBe(true);
  });

  it('a restored person is found by search, by other addresses and numbers, and by company', async () => {
    const { path, backup } = await later();
    for (const name of ['person_postings', 'other_addresses', 'domain_aliases', 'people_by_name'])
      zeroPage(path, pagesOf(path, name).leaves.at(-1) as number);
    await restored(path, backup);
    await expectWhole(path);
    const service = await serveStore({ store: path });
    const total = async (query: string): Promise<unknown> =>
      (await service.request(`/v1/contacts/search?${query}`, { headers: { authorization: `Bearer ${KEY}` } })).json['meta'];
    expect(await total('title=CTO')).toMatchObject({ total: PEOPLE / 2 - 1 });
    expect(await total('domain=a5.example')).toMatchObject({ total: PEOPLE / 40 });
    expect((await service.post('/v1/enrich', { email: 'other11@home.example' })).json).toMatchObject({ id: 'pe_11' });
    expect((await service.post('/v1/enrich', { phone: '+12125550012' })).json).toMatchObject({ id: 'pe_12' });
    expect((await service.post('/v1/enrich', { email: emailOf(ERASED) })).status).toBe(451);
  });

  it('lost API keys come from the backup, and the report shows their sums', async () => {
    const { path, backup } = await later();
    zeroPage(booksOf(path), pagesOf(booksOf(path), 'keys').root);
    const text = await printed(() => restoreCommand(path, backup, false, never));
    expect(text).toMatch(
      new RegExp(
        String.raw`WARNING: 3 keys have their books as the backup has them, 0 credits used; ` +
          String.raw`what was spent since, and which were revoked, is not known:\n {4}key_\S+ \(key 0\): 0 used of 1000\n`,
      ),
    );
    await expectWhole(path);
    expect(read(path, 'SELECT count(*) AS n FROM keys')).toEqual([{ n: 3 }]);
  });

  it('the report says that erasures are unknown when the erasure log is lost too', async () => {
    const { path, backup } = await later();
    for (const name of ['suppressions', 'suppressions_by_time']) zeroPage(booksOf(path), pagesOf(booksOf(path), name).root);
    rmSync(`${path}.erased`);
    expect(await printed(() => restoreCommand(path, backup, false, never))).toContain('so nobody knows who was erased since the backup');
  });

  it('all erasures stay known when every page with them is lost', async () => {
    const { path, backup } = await later();
    for (const name of ['suppressions', 'suppressions_by_time']) zeroPage(booksOf(path), pagesOf(booksOf(path), name).root);
    zeroPage(path, pagesOf(path, 'people').root);
    const { people_erased: erased } = await restored(path, backup);
    expect(erased).toBe(1);
    await expectWhole(path);
    const service = await serveStore({ store: path });
    for (const email of [emailOf(ERASED), `other${ERASED}@home.example`, 'gone@c1.example'])
      expect((await service.post('/v1/enrich', { email })).status).toBe(451);
  });

  it.each(sampleOf(LOSSES, 2))(`a store is restored after the loss of %s (seed ${SEED})`, async (_what, damage) => {
    const { path, backup } = await later();
    damage(path);
    const damaged = readFileSync(path);
    const { old } = await restored(path, backup);
    await expectWhole(path);
    const there = idsOf(path);
    const missing = [...everybody()].filter((id) => !there.has(id));
    // People newer than the backup may have been on the lost page.
    expect(missing.filter((id) => id !== `pe_${ADDED}`)).toEqual([]);
    expect(readFileSync(old ?? '').length).toBe(damaged.length);
  });
});

it('a restore replaces a lost store, without people who were erased since', async () => {
  const { path, backup } = await later();
  removeStoreFiles(path);
  const { old, erasures_known: isKnown, people_erased: erased } = await restored(path, backup);
  expect([old, isKnown, erased]).toEqual([null, true, 1]);
  await expectWhole(path);
  removeStoreFiles(path);
  rmSync(`${path}.erased`);
  expect(await printed(() => restoreCommand(path, backup, false, never))).toContain('WARNING: there is no ');
});

it('a rebuild without a backup makes indexes and search again, and names the lost records', async () => {
  const { path } = await later();
  zeroPage(path, pagesOf(path, 'people_by_company').root);
  await restored(path, null);
  await expectWhole(path);
  expect(idsOf(path)).toEqual(everybody());
  zeroPage(path, pagesOf(path, 'people').leaves[4] as number);
  const { tables } = await restored(path, null);
  const people = tables.find(({ table }) => table === 'people') ?? expect.fail();
  expect([people.lost, people.lost_names.length, people.kept]).toEqual([PEOPLE - people.kept, PEOPLE - people.kept, idsOf(path).size]);
  expect(people.lost).toBeGreaterThan(0);
  await expectWhole(path);
});

it('a restore changes nothing in an undamaged store, in a served store, or after an abort', async () => {
  const { path, backup } = await later();
  expect(await restored(path, backup)).toEqual({ store: path, restored: false });
  const service = await serveStore({ store: path });
  zeroPage(path, pagesOf(path, 'people').leaves[2] as number);
  await expect(restored(path, backup)).rejects.toMatchObject({ exitCode: 75, code: 'store_held' });
  await service.close();
  const stop = new AbortController();
  const before = readFileSync(path).subarray(100);
  const running = printed(() => restoreCommand(path, backup, true, stop.signal));
  setImmediate(() => stop.abort(new Error('stopped')));
  await expect(running).rejects.toThrow('stopped');
  expect(readFileSync(path).subarray(100).equals(before)).toBe(true);
  await restored(path, backup);
  await expectWhole(path);
});

it('a restore refuses a backup that is damaged, missing or the store itself', async () => {
  const { path, backup } = await later();
  zeroPage(path, pagesOf(path, 'people').leaves[2] as number);
  damagePage(backup, pagesOf(backup, 'people').leaves[2] as number, (page) => page.fill(0));
  for (const [name, code] of [
    [backup, 'backup_damaged'],
    [`${backup}.none`, 'backup_missing'],
    [path, 'same_file'],
  ] as const)
    await expect(restored(path, name)).rejects.toMatchObject({ code });
  expect(existsSync(`${path}.restoring`)).toBe(false);
});
