import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/errors.ts';
import { SearchIndex } from '../../src/service/search/search-index.ts';
import { SORTS } from '../../src/service/search/sort-keys.ts';
import { loadCompanies, loadPeople, loadSignals, parseJsonLines } from '../../src/service/store/load.ts';
import { openDirectory } from '../../src/service/store/directory.ts';
import { MIGRATIONS } from '../../src/service/store/migrations.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { forgetLog, suppress } from '../../src/service/store/suppress.ts';
import { transaction } from '../../src/sqlite/transaction.ts';
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

  it('has larger pages than older ones, which keep theirs, and a log of as many bytes', async () => {
    const pragma = (store: Store, name: string): unknown => Object.values(store.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    const folder = await temporaryFolder();
    const older = new DatabaseSync(join(folder, 'older.sqlite'));
    older.exec('PRAGMA page_size = 4096; CREATE TABLE any (n INTEGER); DROP TABLE any');
    older.close();
    for (const [name, bytes] of [['new.sqlite', 8_192], ['older.sqlite', 4_096]] as const) {
      const store = openStore(join(folder, name));
      expect(pragma(store, 'page_size')).toBe(bytes);
      expect(pragma(store, 'journal_mode')).toBe('wal');
      expect(pragma(store, 'wal_autocheckpoint')).toBe(2 ** 24 / bytes);
      store.close();
    }
  });

  it('says what is wrong with a file that is none', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'text'), 'this is no database, and it is long enough to be noticed as such'.repeat(100));
    for (const path of [join(folder, 'text'), folder]) {
      expect(() => openStore(path)).toThrow(expect.objectContaining({ code: 'store_unusable', exitCode: EXIT.storage, message: expect.stringContaining(path), hint: expect.stringContaining(`millrace check --store ${path}`) }));
    }
  });

  it('is made in no folder but one that is there: a missing one is mistyped, or its disk is not mounted', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'text'), '');
    for (const path of [join(folder, 'no', 'new.sqlite'), join(folder, 'text', 'new.sqlite')]) {
      expect(() => openStore(path)).toThrow(expect.objectContaining({ code: 'store_missing', exitCode: EXIT.input, message: expect.stringContaining(dirname(path)) }));
    }
    expect(await readdir(folder)).toEqual(['text']);
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
        loadPeople(store, [{ id: 'new', email: 'new@acme.example' }], 'test');
        expect(count()).toBe(4);
        throw new Error('no');
      }),
    ).toThrow('no');
    expect(count()).toBe(3);
    store.close();
  });

  it('merges what it is told of somebody it knows, under the id that they have, and rejects what has no name', async () => {
    const store = openStore(await makeStore());
    expect(loadCompanies(store, [{ id: 'co_9', domain: 'https://WWW.Acme.example/', name: 'New' }, { id: 'co_8' }, { domain: 'x' }], 'crm')).toEqual({ loaded: 1, rejected: 2 });
    expect(store.prepare("SELECT id, doc ->> 'name' AS name, doc ->> 'employees' AS employees FROM companies").all()).toEqual([{ id: 'co_1', name: 'New', employees: 42 }]);
    expect(loadPeople(store, [{ email: 'JANE.DOE@acme.example', mobile: '+1 (212) 555-0100', id: 'crm-7' }, { name: 'Nobody' }, { title: 'CTO' }], 'crm')).toEqual({ loaded: 1, rejected: 2 });
    expect(store.prepare("SELECT id, mobile, doc ->> 'title' AS title FROM people WHERE email = 'jane.doe@acme.example'").all()).toEqual([{ id: 'pe_1', mobile: '+12125550100', title: 'CTO' }]);
    store.close();
  });

  it('knows people by address, by profile, by id, and by name and company, in this order', async () => {
    const store = openStore(await makeStore());
    const profile = 'https://www.profiles.example/in/jane-doe/';
    const jane = { email: 'jane.doe@acme.example', linkedin_url: profile, emails: [{ email: 'jd@home.example' }] };
    const count = (): unknown => store.prepare('SELECT count(*) AS n FROM people').get()?.['n'];
    loadPeople(store, [jane], 'a');
    for (const again of [{ email: 'JD@home.example' }, { linkedin_url: 'http://profiles.example/in/Jane-Doe?x=1' }, { id: 'pe_1' }, { name: 'JANE  doe', company_domain: 'acme.example' }]) {
      expect(loadPeople(store, [again], 'b')).toEqual({ loaded: 1, rejected: 0 });
      expect(count()).toBe(3);
    }
    loadPeople(store, [{ email: 'other@acme.example', name: 'Jane Doe', company_domain: 'acme.example' }], 'b');
    expect(count()).toBe(4);
    store.close();
  });

  it('erases a person by any address, with the signals about them, and keeps nothing but digests', async () => {
    const path = await makeStore((open) => {
      loadPeople(open, [{ email: 'jane.doe@acme.example', emails: ['jd@home.example'], linkedin_url: 'https://profiles.example/in/jane-doe' }], 'crm');
      loadSignals(open, [{ type: 'exec_moves', domain: 'acme.example', occurred_at: '2026-01-01', person: { name: 'Jane Doe', linkedin_url: 'https://profiles.example/in/jane-doe' } }], 'crm');
    });
    const store = openStore(path);
    expect(suppress(store, ['JD@home.example', 'not an address'], 7)).toEqual({ suppressed: 1, people: 1, signals: 1, deliveries: 0, invalid: ['not an address'] });
    const comeback = [{ email: 'jane.doe@acme.example' }, { email: 'jd@home.example' }, { id: 'x', linkedin_url: 'profiles.example/in/jane-doe' }];
    expect(loadPeople(store, comeback, 'crm')).toEqual({ loaded: 0, rejected: 3 });
    expect(forgetLog(store)).toBe(true);
    expect((await readFile(`${path}-wal`)).length).toBe(0);
    store.close();
    expect((await readFile(path)).includes('jane-doe')).toBe(false);
  });

  it('keeps signals once, however often they are told of', async () => {
    const store = openStore(await makeStore());
    const signal = { type: 'funding', company: { domain: 'acme.example' }, occurred_at: '2026-01-31', data: { round_type: 'seed', amount_usd: 5 } };
    const bad = [{ ...signal, type: 'gossip' }, { ...signal, company: {} }, { ...signal, occurred_at: '31/01/2026' }];
    expect(loadSignals(store, [signal, signal, ...bad], 'a')).toEqual({ loaded: 2, rejected: 3 });
    expect(loadSignals(store, [signal], 'a')).toEqual({ loaded: 1, rejected: 0 });
    expect(store.prepare('SELECT count(*) AS n FROM signals').get()).toEqual({ n: 1 });
    store.close();
  });

  it('brings a store of the first schema up to date with all that is in it', async () => {
    const path = join(await temporaryFolder(), 'old.sqlite');
    const old = new DatabaseSync(path);
    old.exec(`${MIGRATIONS[0]?.sql ?? ''}; PRAGMA user_version = 1`);
    old.prepare('INSERT INTO companies (id, domain, accepts_all, doc) VALUES (?, ?, ?, ?)').run('co_1', 'acme.example', 1, '{"id":"co_1","domain":"acme.example","name":"Acme","accepts_all":true}');
    old.prepare('INSERT INTO people (id, email, company_domain, doc) VALUES (?, ?, ?, ?)').run('pe_1', 'jane@acme.example', 'acme.example', '{"id":"pe_1","email":"jane@acme.example","name":"Jane","updated_at":"2025-03-28T00:00:00Z"}');
    old.close();
    const store = openStore(path);
    const directory = openDirectory(store);
    const jane = directory.personByEmail('jane@acme.example');
    expect([jane?.person, jane?.companyDomain, jane?.companyName]).toEqual([{ id: 'pe_1', email: 'jane@acme.example', name: 'Jane', updated_at: '2025-03-28T00:00:00Z' }, 'acme.example', null]);
    expect(JSON.parse(directory.companyByDomain('acme.example') ?? '')).toMatchObject({ id: 'co_1', name: 'Acme', accepts_all: true });
    expect(directory.domain('acme.example')).toEqual({ acceptsAll: true, emailPattern: null });
    for (const sort of SORTS) expect(new SearchIndex(store, () => 0).find({ clauses: [], sort, descending: false, after: { key: sort === 'name' ? 'a' : -2, id: '' }, limit: 1 }).rows).toMatchObject([{ row: { doc: expect.stringContaining('Jane') } }]);
    expect(store.prepare('SELECT least FROM person_ranks').get()).toEqual(store.prepare('SELECT rank AS least FROM people').get());
    store.close();
  });

  it('names the line of a file that is no JSON', () => {
    expect(() => [...parseJsonLines('{}\n\n{"a":', 'people.jsonl')]).toThrow('people.jsonl, line 3');
    expect(() => [...parseJsonLines('[]', 'people.jsonl')]).toThrow('people.jsonl, line 1');
  });
});
