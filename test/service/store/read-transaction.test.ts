import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { loadCompanies, loadSignals } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { snapshot, type Store } from '../../../src/service/store/store.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { ReadTransaction } from '../../../src/service/store/read-transaction.ts';
import { transaction } from '../../../src/sqlite/transaction.ts';

describe('reads of an event-loop turn', () => {
  let folder = '';
  let store: Store;
  let elsewhere: Store;
  let turn: ReadTransaction;
  let name: (id: number) => unknown;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-turn-'));
    const path = join(folder, 'store.sqlite');
    store = openStore(path);
    elsewhere = openStore(path);
    elsewhere.exec("INSERT INTO sources (id, name) VALUES (11, 'one')");
    turn = new ReadTransaction(store);
    const find = turn.prepare('SELECT name FROM sources WHERE id = ?');
    name = (id) => find(id)?.[0];
  });

  afterEach(() => {
    turn.end();
    elsewhere.close();
    store.close();
    rmSync(folder, { recursive: true });
  });

  it('reads of one turn see one snapshot, and those of the next turn see writes of other processes', async () => {
    expect(name(11)).toBe('one');
    elsewhere.exec("UPDATE sources SET name = 'two' WHERE id = 11; INSERT INTO sources (id, name) VALUES (12, 'more')");
    expect([name(11), name(12)]).toEqual(['one', undefined]);
    await setImmediate();
    expect([name(11), name(12)]).toEqual(['two', 'more']);
  });

  it('reads see writes of the same process, which are committed at once', () => {
    name(11);
    transaction(store, () => store.exec("UPDATE sources SET name = 'two' WHERE id = 11"));
    expect(elsewhere.prepare('SELECT name FROM sources WHERE id = 11').get()).toEqual({ name: 'two' });
    expect(name(11)).toBe('two');
  });

  it('reads join an open transaction', () => {
    transaction(store, () => {
      store.exec("UPDATE sources SET name = 'two' WHERE id = 11");
      expect(name(11)).toBe('two');
    });
    expect(snapshot(store, () => name(11))).toBe('two');
    expect(store.isTransaction).toBe(false);
  });

  it('reads do not block checkpoints of the log after the turn', async () => {
    name(11);
    elsewhere.exec("UPDATE sources SET name = 'two' WHERE id = 11");
    await setImmediate();
    expect(elsewhere.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
  });

  it('reads survive a disk error that ended the transaction', async () => {
    name(11);
    // SQLite does this by itself after such an error.
    store.exec('ROLLBACK');
    await setImmediate();
    expect([store.isTransaction, name(11)]).toEqual([false, 'one']);
  });

  it('reads return one version of a company, and in the next turn the one that another process wrote', async () => {
    loadCompanies(elsewhere, [{ domain: 'acme.example', name: 'Acme' }], 'test');
    loadSignals(
      elsewhere,
      [
        {
          id: 'sg_1',
          type: 'hiring',
          occurred_at: '2026-01-01',
          company: { domain: 'acme.example' },
          person: { email: 'eve@acme.example' },
        },
      ],
      'test',
    );
    const directory = openDirectory(store, turn);
    // The snapshot of this turn is older than the erasure.
    directory.personByEmail('somebody@acme.example');
    suppress(elsewhere, ['eve@acme.example'], 0);
    expect(directory.companyByDomain('acme.example')).toContain('"id":"sg_1"');
    await setImmediate();
    expect(directory.companyByDomain('acme.example')).toContain('"signals":null');
  });
});
