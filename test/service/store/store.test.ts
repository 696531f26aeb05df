import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/util/errors.ts';
import { loadCompanies, loadPeople, loadSignals, parseJsonLines } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { forgetLog, suppress } from '../../../src/service/erasure/suppress.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';
import { makeStore, temporaryFolder } from '../harness.ts';

describe('the store', () => {
  it('a missing store is created, readable by its owner alone, and opens again', async () => {
    const path = join(await temporaryFolder(), 'new.sqlite');
    openStore(path).close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    openStore(path).close();
  });

  it('a store is created with pages of 8 KiB, an existing file keeps its pages, and the log is limited in bytes', async () => {
    const pragma = (store: Store, name: string): unknown => Object.values(store.prepare(`PRAGMA ${name}`).get() ?? {})[0];
    const folder = await temporaryFolder();
    const existing = new DatabaseSync(join(folder, 'existing.sqlite'));
    existing.exec('PRAGMA page_size = 4096; CREATE TABLE any (n INTEGER); DROP TABLE any');
    existing.close();
    for (const [name, bytes] of [
      ['new.sqlite', 8_192],
      ['existing.sqlite', 4_096],
    ] as const) {
      const store = openStore(join(folder, name));
      expect(pragma(store, 'page_size')).toBe(bytes);
      expect(pragma(store, 'journal_mode')).toBe('wal');
      expect(pragma(store, 'wal_autocheckpoint')).toBe(2 ** 24 / bytes);
      store.close();
    }
  });

  it('a file that is not a store is refused with a clear message', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'text'), 'this is no database, and it is long enough to be noticed as such'.repeat(100));
    for (const path of [join(folder, 'text'), folder]) {
      expect(() => openStore(path)).toThrow(
        expect.objectContaining({
          code: 'store_unusable',
          exitCode: EXIT.storage,
          message: expect.stringContaining(path),
          hint: expect.stringContaining(`millrace check --store ${path}`),
        }),
      );
    }
  });

  it('a store is not created in a missing folder, which is a typing error or an unmounted disk', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'text'), '');
    for (const path of [join(folder, 'no', 'new.sqlite'), join(folder, 'text', 'new.sqlite')]) {
      expect(() => openStore(path)).toThrow(
        expect.objectContaining({ code: 'store_missing', exitCode: EXIT.input, message: expect.stringContaining(dirname(path)) }),
      );
    }
    expect(await readdir(folder)).toEqual(['text']);
  });

  it('a failed transaction rolls back with its nested transactions', async () => {
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

  it('reports of known records are merged under their stored id, and records without an identity are rejected', async () => {
    const store = openStore(await makeStore());
    expect(
      loadCompanies(store, [{ id: 'co_9', domain: 'https://WWW.Acme.example/', name: 'New' }, { id: 'co_8' }, { domain: 'x' }], 'crm'),
    ).toEqual({ loaded: 1, rejected: 2 });
    expect(store.prepare("SELECT id, doc ->> 'name' AS name, doc ->> 'employees' AS employees FROM companies").all()).toEqual([
      { id: 'co_1', name: 'New', employees: 42 },
    ]);
    expect(
      loadPeople(
        store,
        [{ email: 'JANE.DOE@acme.example', mobile: '+1 (212) 555-0100', id: 'crm-7' }, { name: 'Nobody' }, { title: 'CTO' }],
        'crm',
      ),
    ).toEqual({ loaded: 1, rejected: 2 });
    expect(store.prepare("SELECT id, mobile, doc ->> 'title' AS title FROM people WHERE email = 'jane.doe@acme.example'").all()).toEqual([
      { id: 'pe_1', mobile: '+12125550100', title: 'CTO' },
    ]);
    store.close();
  });

  it('people are recognised by address, profile, id, then name and company', async () => {
    const store = openStore(await makeStore());
    const profile = 'https://www.profiles.example/in/jane-doe/';
    const jane = { email: 'jane.doe@acme.example', linkedin_url: profile, emails: [{ email: 'jd@home.example' }] };
    const count = (): unknown => store.prepare('SELECT count(*) AS n FROM people').get()?.['n'];
    loadPeople(store, [jane], 'a');
    for (const again of [
      { email: 'JD@home.example' },
      { linkedin_url: 'http://profiles.example/in/Jane-Doe?x=1' },
      { id: 'pe_1' },
      { name: 'JANE  doe', company_domain: 'acme.example' },
    ]) {
      expect(loadPeople(store, [again], 'b')).toEqual({ loaded: 1, rejected: 0 });
      expect(count()).toBe(3);
    }
    loadPeople(store, [{ email: 'other@acme.example', name: 'Jane Doe', company_domain: 'acme.example' }], 'b');
    expect(count()).toBe(4);
    store.close();
  });

  it('an erasure by any address removes a person with their signals, and keeps only digests', async () => {
    const path = await makeStore((open) => {
      loadPeople(
        open,
        [{ email: 'jane.doe@acme.example', emails: ['jd@home.example'], linkedin_url: 'https://profiles.example/in/jane-doe' }],
        'crm',
      );
      loadSignals(
        open,
        [
          {
            type: 'exec_moves',
            domain: 'acme.example',
            occurred_at: '2026-01-01',
            person: { name: 'Jane Doe', linkedin_url: 'https://profiles.example/in/jane-doe' },
          },
        ],
        'crm',
      );
    });
    const store = openStore(path);
    expect(suppress(store, ['JD@home.example', 'not an address'], 7)).toEqual({
      suppressed: 1,
      people: 1,
      signals: 1,
      deliveries: 0,
      shared: 0,
      invalid: ['not an address'],
    });
    const returned = [
      { email: 'jane.doe@acme.example' },
      { email: 'jd@home.example' },
      { id: 'x', linkedin_url: 'profiles.example/in/jane-doe' },
    ];
    expect(loadPeople(store, returned, 'crm')).toEqual({ loaded: 0, rejected: 3 });
    expect(forgetLog(store)).toBe(true);
    expect((await readFile(`${path}-wal`)).length).toBe(0);
    store.close();
    expect((await readFile(path)).includes('jane-doe')).toBe(false);
  });

  it('a repeated signal is stored once', async () => {
    const store = openStore(await makeStore());
    const signal = {
      type: 'funding',
      company: { domain: 'acme.example' },
      occurred_at: '2026-01-31',
      data: { round_type: 'seed', amount_usd: 5 },
    };
    const bad = [
      { ...signal, type: 'gossip' },
      { ...signal, company: {} },
      { ...signal, occurred_at: '31/02/2026' },
    ];
    expect(loadSignals(store, [signal, signal, ...bad], 'a')).toEqual({ loaded: 2, rejected: 3 });
    expect(loadSignals(store, [signal], 'a')).toEqual({ loaded: 1, rejected: 0 });
    expect(store.prepare('SELECT count(*) AS n FROM signals').get()).toEqual({ n: 1 });
    store.close();
  });

  it('an import error names the line that is not JSON', () => {
    expect(() => [...parseJsonLines('{}\n\n{"a":', 'people.jsonl')]).toThrow('people.jsonl, line 3');
    expect(() => [...parseJsonLines('[]', 'people.jsonl')]).toThrow('people.jsonl, line 1');
  });
});
