import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadPeople } from '../../src/service/store/load.ts';
import { openDirectory } from '../../src/service/store/directory.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import { emptyStore } from './loading.ts';
import { temporaryFolder } from './harness.ts';

const found = (store: Store, email: string): unknown => openDirectory(store, () => 0).personByEmail(email)?.person['id'];

describe('whom an erasure takes', () => {
  it('follows addresses and profiles from row to row until nobody new turns up', async () => {
    const store = await emptyStore();
    loadPeople(store, [
      { id: 'pe_4', email: 'd@acme.example' },
      { id: 'pe_5', email: 'c@acme.example', linkedin_url: 'profiles.example/in/ada' },
      { email: 'd@acme.example', linkedin_url: 'profiles.example/in/ada' },
      { id: 'pe_2', email: 'b@acme.example', emails: ['c@acme.example'] },
      { id: 'pe_3', email: 'a@acme.example', emails: ['a@acme.example', 'b@acme.example'] },
      { id: 'pe_9', email: 'z@acme.example' },
    ], 'crm');
    expect(suppress(store, ['a@acme.example'], 7)).toMatchObject({ suppressed: 1, people: 4 });
    const directory = openDirectory(store, () => 0);
    for (const name of ['a', 'b', 'c', 'd']) expect([directory.personByEmail(`${name}@acme.example`), directory.isSuppressed(`${name}@acme.example`)]).toEqual([null, true]);
    expect(found(store, 'z@acme.example')).toBe('pe_9');
    store.close();
  });

  it('takes all who have an address, though it was one of them who had it first', async () => {
    const store = await emptyStore();
    loadPeople(store, [{ id: 'pe_1', email: 'a@acme.example', emails: ['ours@home.example'] }, { id: 'pe_2', email: 'b@acme.example', personal_emails: ['ours@home.example'] }], 'crm');
    expect(found(store, 'ours@home.example')).toBe('pe_1');
    expect(suppress(store, ['ours@home.example'], 7)).toMatchObject({ people: 2 });
    expect(store.prepare('SELECT (SELECT count(*) FROM people) AS people, (SELECT count(*) FROM other_addresses) AS addresses').get()).toEqual({ people: 0, addresses: 0 });
    store.close();
  });

  it('takes no colleagues for the address of a function that they share, unless that is what was given', async () => {
    const store = await emptyStore();
    loadPeople(store, [{ id: 'pe_1', email: 'a@acme.example', emails: ['info@acme.example'] }, { id: 'pe_2', email: 'b@acme.example', emails: ['info@acme.example'] }, { id: 'pe_3', email: 'c@acme.example', emails: ['info@acme.example'] }], 'crm');
    expect(suppress(store, ['a@acme.example'], 7)).toMatchObject({ people: 1 });
    expect(found(store, 'info@acme.example')).toBe('pe_2');
    expect(suppress(store, ['info@acme.example'], 7)).toMatchObject({ suppressed: 1, people: 2 });
    store.close();
  });

  it('knows all who have an address in a store that was made when one person had it alone', async () => {
    const path = join(await temporaryFolder(), 'fifth.sqlite');
    const old = openStore(path);
    loadPeople(old, [{ id: 'pe_1', email: 'a@acme.example', emails: ['ours@home.example'] }, { id: 'pe_2', email: 'b@acme.example', emails: [{ address: 'OURS@home.example' }] }], 'crm');
    old.exec('DROP TABLE other_addresses; CREATE TABLE other_addresses (email TEXT PRIMARY KEY, person INTEGER NOT NULL) STRICT, WITHOUT ROWID; PRAGMA user_version = 5');
    old.close();
    const store = openStore(path);
    expect(suppress(store, ['ours@home.example'], 7)).toMatchObject({ people: 2 });
    store.close();
  });
});
