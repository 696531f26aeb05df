import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { loadCompanies, loadPeople, parseJsonLines, suppress } from '../../src/service/store/load.ts';
import { MIGRATIONS } from '../../src/service/store/migrations.ts';
import { openStore, transaction } from '../../src/service/store/open-store.ts';
import { makeStore, temporaryFolder } from './harness.ts';

describe('the store', () => {
  it('is made when missing, for its owner only, and is opened again as it is', async () => {
    const path = join(await temporaryFolder(), 'new.sqlite');
    openStore(path).close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    openStore(path).close();
    const db = new DatabaseSync(path);
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: MIGRATIONS.length });
    db.close();
  });

  it('has its migrations numbered from 1 without a gap', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it('says what is wrong with a file that is none', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'text'), 'this is no database, and it is long enough to be noticed as such'.repeat(100));
    for (const path of [join(folder, 'text'), join(folder, 'no', 'folder'), folder]) {
      expect(() => openStore(path)).toThrow(expect.objectContaining({ code: 'store_unusable', exitCode: EXIT.storage, message: expect.stringContaining(path) }));
    }
  });

  it('refuses a store of a newer version', async () => {
    const path = await makeStore();
    const db = new DatabaseSync(path);
    db.exec('PRAGMA user_version = 999');
    db.close();
    expect(() => openStore(path)).toThrow(expect.objectContaining({ code: 'store_too_new' }));
  });

  it('does all of a transaction or nothing, also of one within another', async () => {
    const store = openStore(await makeStore());
    const count = (): unknown => store.prepare('SELECT count(*) AS n FROM people').get()?.['n'];
    expect(() =>
      transaction(store, () => {
        loadPeople(store, [{ id: 'new', email: 'new@acme.example' }]);
        expect(count()).toBe(4);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(count()).toBe(3);
    store.close();
  });

  it('replaces what it has, and rejects what has no name', async () => {
    const store = openStore(await makeStore());
    expect(loadCompanies(store, [{ id: 'co_9', domain: 'https://WWW.Acme.example/', name: 'New' }, { id: 'co_8' }, { domain: 'x.example' }])).toEqual({ loaded: 1, rejected: 2 });
    expect(store.prepare('SELECT id, domain FROM companies').all()).toEqual([{ id: 'co_9', domain: 'acme.example' }]);
    expect(loadPeople(store, [{ id: 'pe_1', name: 'Again' }, { name: 'Nobody' }])).toEqual({ loaded: 1, rejected: 1 });
    expect(store.prepare("SELECT email FROM people WHERE id = 'pe_1'").get()).toEqual({ email: null });
    store.close();
  });

  it('erases a person and keeps nothing but a digest', async () => {
    const store = openStore(await makeStore());
    suppress(store, ['Jane.Doe@acme.example', 'not an address'], 7);
    expect(store.prepare("SELECT count(*) AS n FROM people WHERE id = 'pe_1'").get()).toEqual({ n: 0 });
    expect(store.prepare('SELECT email_sha256, at FROM suppressions WHERE at = 7').all()).toMatchObject([{ at: 7 }]);
    store.close();
  });

  it('names the line of a file that is no JSON', () => {
    expect(() => [...parseJsonLines('{}\n\n{"a":', 'people.jsonl')]).toThrow('people.jsonl, line 3');
    expect(() => [...parseJsonLines('[]', 'people.jsonl')]).toThrow('people.jsonl, line 1');
  });
});
