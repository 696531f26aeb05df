import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../src/service/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { emptyStore, load } from '../loading.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];

describe('who is one person', () => {
  it('is nobody else for an id that two files number their rows by', async () => {
    const store = await emptyStore();
    await load(store, [{ id: '1', email: 'alice@one.example', name: 'Alice One', mobile: '+4915111111111' }]);
    const other = [{ id: '1', email: 'zoe@two.example', name: 'Zoe Two' }, { id: '1', name: 'Yan Two' }];
    expect((await load(store, other)).counts).toMatchObject({ added: 2 });
    // Again, each is who they were.
    expect((await load(store, other)).counts).toMatchObject({ added: 0, unchanged: 2 });
    expect(people(store)).toMatchObject([{ id: '1', email: 'alice@one.example', name: 'Alice One' }, { email: 'zoe@two.example', name: 'Zoe Two' }, { name: 'Yan Two' }]);
    expect(new Set(people(store).map(({ id }) => id)).size).toBe(3);
    expect(people(store)[1]).not.toHaveProperty('mobile');
    // By that id and name they are known again, with another address, too.
    expect((await load(store, [{ id: '1', email: 'zoe@new.example', name: 'Zoe Two' }], { asOf: '2026-02-01' })).counts).toMatchObject({ added: 0, updated: 1 });
    store.close();
  });

  it.each([
    [{ name: 'Ada Example' }, { name: 'ADA Mária éxample' }], [{ name: 'Example, Ada' }, { first_name: 'Ada' }], [{ name: 'Ada Example' }, {}], [{}, { name: 'Ada Example' }], [{ name: '山田 太郎' }, { name: '山田太郎' }],
  ])('is who has the id or the address beside the main one where %j and %j are no two names', async (one, other) => {
    const store = await emptyStore();
    await load(store, [{ id: '1', email: 'ada@acme.example', emails: [{ email: 'desk@acme.example' }], ...one }]);
    expect((await load(store, [{ id: '1', email: 'ada@new.example', ...other }])).counts).toMatchObject({ added: 0 });
    expect((await load(store, [{ email: 'desk@acme.example', ...other }])).counts).toMatchObject({ added: 0 });
    store.close();
  });

  it('is of several who have an address beside their main one who has the name, and somebody new where none has', async () => {
    const store = await emptyStore();
    await load(store, [{ email: 'ann@acme.example', name: 'Ann Abel', emails: ['office@acme.example'] }, { email: 'bob@acme.example', name: 'Bob Beck', emails: ['office@acme.example'] }]);
    expect((await load(store, [{ email: 'office@acme.example', name: 'Bob A. Beck', title: 'CTO' }, { email: 'office@acme.example', name: 'Office Desk' }], { asOf: '2025-01-01' })).counts).toMatchObject({ updated: 1, added: 1 });
    expect(people(store)).toMatchObject([{ name: 'Ann Abel' }, { name: 'Bob Beck', title: 'CTO' }, { name: 'Office Desk', email: 'office@acme.example' }]);
    // A main address comes first.
    expect(openDirectory(store).personByEmail('office@acme.example')?.person['name']).toBe('Office Desk');
    store.close();
  });

  it('is not who had the address before, with a like name and another profile', async () => {
    const store = await emptyStore();
    const at = (day: string) => ({ asOf: day });
    await load(store, [{ email: 'jane@acme.example', name: 'Jane Smith', linkedin_url: 'linkedin.com/in/janesmith' }], at('2025-01-01'));
    await load(store, [{ email: 'jane@other.example', name: 'Jane Smith', linkedin_url: 'linkedin.com/in/janesmith' }], at('2025-02-01'));
    await load(store, [{ email: 'jane@acme.example', name: 'Jane Miller', linkedin_url: 'linkedin.com/in/janemiller' }, { email: 'x@acme.example', id: '17', name: 'John Smith' }, { email: 'y@acme.example', id: '17', name: 'John Doe' }], at('2025-03-01'));
    expect(people(store).map(({ name, email }) => `${String(name)} ${String(email)}`).toSorted()).toEqual(['Jane Miller jane@acme.example', 'Jane Smith jane@other.example', 'John Doe y@acme.example', 'John Smith x@acme.example']);
    // Her former address is another's by now, who is not erased with her.
    expect(suppress(store, ['jane@other.example'], 7)).toMatchObject({ people: 1 });
    expect(openDirectory(store).personByEmail('jane@acme.example')?.person['name']).toBe('Jane Miller');
    store.close();
  });

  it('is who had the profile or was given the id before, in lookups, in imports and after an erasure', async () => {
    const store = await emptyStore();
    await load(store, [{ id: '7', email: 'jane@acme.example', name: 'Jane Smith', linkedin_url: 'profiles.example/in/jane' }], { asOf: '2025-01-01' });
    await load(store, [{ id: 'crm-7', email: 'jane@acme.example', linkedin_url: 'profiles.example/in/jane-smith' }], { asOf: '2025-02-01' });
    expect((await load(store, [{ linkedin_url: 'profiles.example/in/jane', name: 'Jane Smith' }, { id: 'crm-7', title: 'CTO' }], { asOf: '2025-01-15' })).counts).toMatchObject({ added: 0 });
    const directory = openDirectory(store);
    const found = [directory.personByProfile('profiles.example/in/jane'), directory.personById('crm-7'), directory.personById('7')];
    expect(found.map((row) => row?.person['title'])).toEqual(['CTO', 'CTO', 'CTO']);
    suppress(store, ['jane@acme.example'], 7);
    expect([directory.isSuppressed({ profile: 'profiles.example/in/jane' }), directory.isSuppressed({ id: 'crm-7', knownId: 'crm-7' })]).toEqual([true, true]);
    // Whoever has that number in another file comes in, and she does not.
    expect((await load(store, [{ id: '7', email: 'bob@bolt.example', name: 'Bob Beck' }, { id: '7', name: 'Jane Miller', email: 'jane@home.example' }])).counts).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
    expect(people(store)).toMatchObject([{ name: 'Bob Beck' }]);
    store.close();
  });

  it('is not who has the same address of a function for their main one, whoever came first and however often', async () => {
    const store = await emptyStore();
    const rows = [{ email: 'info@acme.example', name: 'Ann Abel', mobile: '+12125550100' }, { email: 'info@acme.example', name: 'Bob Beck', title: 'CTO' }];
    for (const added of [2, 0]) expect((await load(store, rows)).counts).toMatchObject({ added, updated: 0 });
    expect(people(store)).toMatchObject([{ email: 'info@acme.example', name: 'Ann Abel' }, { name: 'Bob Beck', title: 'CTO', emails: [{ email: 'info@acme.example', type: 'former' }] }]);
    expect(people(store)[1]).not.toHaveProperty('mobile');
    store.close();
  });

  it('is nobody of whom one erasure would take many, however many came by one wrong profile', async () => {
    const store = await emptyStore();
    const many = Array.from({ length: 50 }, (_, n) => ({ email: `u${n}@acme.example`, name: `Given${n} Family${n}` }));
    await load(store, many.map((one) => ({ ...one, linkedin_url: 'linkedin.com/in/unknown' })), { asOf: '2025-01-01' });
    const [row] = people(store);
    expect(row?.['emails']).toHaveLength(20);
    await load(store, many.map((one, n) => ({ ...one, linkedin_url: `linkedin.com/in/own${n}` })), { asOf: '2025-02-01' });
    expect(suppress(store, ['u3@acme.example'], 7).people).toBeLessThanOrEqual(2);
    expect(people(store).length).toBeGreaterThan(45);
    store.close();
  });

  it('stays erased when they come by an id and name alone that another has the id of', async () => {
    const store = await emptyStore();
    await load(store, [{ id: '1', email: 'alice@one.example', name: 'Alice One' }, { id: '1', email: 'zoe@two.example', name: 'Zoe Two' }]);
    suppress(store, ['zoe@two.example'], 7);
    expect((await load(store, [{ id: '1', name: 'Zoe Two' }, { id: '1', email: 'alice@one.example', name: 'Alice One' }])).counts).toMatchObject({ added: 0, unchanged: 1, rejected: { suppressed: 1 } });
    store.close();
  });

  it('is not who has the same page of a company for a profile', async () => {
    const store = await emptyStore();
    const page = 'https://www.linkedin.com/company/acme';
    const { counts } = await load(store, [['Email', 'Name', 'LinkedIn'], ['ann@acme.example', 'Ann A', 'linkedin.com/in/ann'], ['bob@acme.example', 'Bob B', page], ['cid@acme.example', 'Cid C', page]]);
    expect(counts).toMatchObject({ added: 3, dropped: { linkedin_url: 2 } });
    await load(store, [{ email: 'ann@acme.example', linkedin_url: page }], { asOf: '2026-02-01' });
    expect(people(store).map(({ linkedin_url: profile }) => profile)).toEqual(['linkedin.com/in/ann', undefined, undefined]);
    store.close();
  });
});
