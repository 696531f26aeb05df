import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDirectory } from '../../src/service/store/directory.ts';
import { loadCompanies, loadSignals } from '../../src/service/store/load.ts';
import { openReader, openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import { TurnReader } from '../../src/service/store/turn.ts';

describe('reads of a turn of the event loop', () => {
  let folder = '';
  let store: Store;
  let turn: TurnReader;
  let name: (id: number) => unknown;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'millrace-turn-'));
    const path = join(folder, 'store.sqlite');
    store = openStore(path);
    store.exec("INSERT INTO sources (id, name) VALUES (11, 'one')");
    turn = new TurnReader(openReader(path));
    const find = turn.prepare('SELECT name FROM sources WHERE id = ?');
    name = (id) => find(id)?.[0];
  });

  afterEach(() => {
    turn.close();
    store.close();
    rmSync(folder, { recursive: true });
  });

  it('are of one moment, and those of the next turn see what was written', async () => {
    expect(name(11)).toBe('one');
    store.exec("UPDATE sources SET name = 'two' WHERE id = 11; INSERT INTO sources (id, name) VALUES (12, 'more')");
    expect([name(11), name(12)]).toEqual(['one', undefined]);
    await setImmediate();
    expect([name(11), name(12)]).toEqual(['two', 'more']);
  });

  it('keep no log from being emptied once the turn is over', async () => {
    name(11);
    store.exec("UPDATE sources SET name = 'two' WHERE id = 11");
    await setImmediate();
    expect(store.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
  });

  it('are as new as the moment in which it was asked for that', () => {
    name(11);
    store.exec("UPDATE sources SET name = 'two' WHERE id = 11");
    turn.renew();
    expect(name(11)).toBe('two');
  });

  it('end with the transaction that an error of the disk has ended', async () => {
    const db = openReader(join(folder, 'store.sqlite'));
    const other = new TurnReader(db);
    other.prepare('SELECT name FROM sources WHERE id = ?')(11);
    // As SQLite does it by itself then.
    db.exec('ROLLBACK');
    await setImmediate();
    expect(db.isTransaction).toBe(false);
    other.close();
  });

  it('keep no company as it was before somebody else changed it', async () => {
    const path = join(folder, 'store.sqlite');
    const elsewhere = openStore(path);
    loadCompanies(elsewhere, [{ domain: 'acme.example', name: 'Acme' }], 'test');
    loadSignals(elsewhere, [{ id: 'sg_1', type: 'hiring', occurred_at: '2026-01-01', company: { domain: 'acme.example' }, person: { email: 'eve@acme.example' } }], 'test');
    await setImmediate();
    let nowMs = 0;
    const directory = openDirectory(store, () => nowMs, turn);
    nowMs = 5_000;
    // The turn is of before the erasure.
    directory.personByEmail('somebody@acme.example');
    suppress(elsewhere, ['eve@acme.example'], 0);
    directory.companyByDomain('acme.example');
    await setImmediate();
    expect(directory.companyByDomain('acme.example')).toContain('"signals":null');
    elsewhere.close();
  });

  it('can be ended in the middle of a turn', () => {
    name(11);
    turn.close();
    turn = new TurnReader(openReader(join(folder, 'store.sqlite')));
    expect(store.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()).toMatchObject({ busy: 0 });
  });
});
