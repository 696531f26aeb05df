import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { openDirectory } from '../../../../src/service/store/directory.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { emptyStore, load } from '../../loading.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];

describe('recognising a person', () => {
  it('people are not merged by an id that two files use as row number', async () => {
    const store = await emptyStore();
    await load(store, [{ id: '1', email: 'alice@one.example', name: 'Alice One', mobile: '+4915111111111' }]);
    const other = [
      { id: '1', email: 'zoe@two.example', name: 'Zoe Two' },
      { id: '1', name: 'Yan Two' },
    ];
    expect((await load(store, other)).counts).toMatchObject({ added: 2 });
    // Repeated rows match the same people.
    expect((await load(store, other)).counts).toMatchObject({ added: 0, unchanged: 2 });
    expect(people(store)).toMatchObject([
      { id: '1', email: 'alice@one.example', name: 'Alice One' },
      { email: 'zoe@two.example', name: 'Zoe Two' },
      { name: 'Yan Two' },
    ]);
    expect(new Set(people(store).map(({ id }) => id)).size).toBe(3);
    expect(people(store)[1]).not.toHaveProperty('mobile');
    // Id and name together match them again, also with another address.
    expect((await load(store, [{ id: '1', email: 'zoe@new.example', name: 'Zoe Two' }], { asOf: '2026-02-01' })).counts).toMatchObject({
      added: 0,
      updated: 1,
    });
    store.close();
  });

  it.each([
    [{ name: 'Ada Example' }, { name: 'ADA Mária éxample' }],
    [{ name: 'Example, Ada' }, { first_name: 'Ada' }],
    [{ name: 'Ada Example' }, {}],
    [{}, { name: 'Ada Example' }],
    [{ name: '山田 太郎' }, { name: '山田太郎' }],
  ])('an id or another address finds the person when %j and %j can be the same name', async (one, other) => {
    const store = await emptyStore();
    await load(store, [{ id: '1', email: 'ada@acme.example', emails: [{ email: 'desk@acme.example' }], ...one }]);
    expect((await load(store, [{ id: '1', email: 'ada@new.example', ...other }])).counts).toMatchObject({ added: 0 });
    expect((await load(store, [{ email: 'desk@acme.example', ...other }])).counts).toMatchObject({ added: 0 });
    store.close();
  });

  it('people who share a further address are told apart by name, and a row with another name adds a person', async () => {
    const store = await emptyStore();
    await load(store, [
      { email: 'ann@acme.example', name: 'Ann Abel', emails: ['office@acme.example'] },
      { email: 'bob@acme.example', name: 'Bob Beck', emails: ['office@acme.example'] },
    ]);
    expect(
      (
        await load(
          store,
          [
            { email: 'office@acme.example', name: 'Bob A. Beck', title: 'CTO' },
            { email: 'office@acme.example', name: 'Office Desk' },
          ],
          { asOf: '2025-01-01' },
        )
      ).counts,
    ).toMatchObject({ updated: 1, added: 1 });
    expect(people(store)).toMatchObject([
      { name: 'Ann Abel' },
      { name: 'Bob Beck', title: 'CTO' },
      { name: 'Office Desk', email: 'office@acme.example' },
    ]);
    // A main address is compared first.
    expect(openDirectory(store).personByEmail('office@acme.example')?.person['name']).toBe('Office Desk');
    store.close();
  });

  it('a row does not match the former holder of an address who has another profile', async () => {
    const store = await emptyStore();
    const at = (day: string) => ({ asOf: day });
    await load(store, [{ email: 'jane@acme.example', name: 'Jane Smith', linkedin_url: 'linkedin.com/in/janesmith' }], at('2025-01-01'));
    await load(store, [{ email: 'jane@other.example', name: 'Jane Smith', linkedin_url: 'linkedin.com/in/janesmith' }], at('2025-02-01'));
    await load(
      store,
      [
        { email: 'jane@acme.example', name: 'Jane Miller', linkedin_url: 'linkedin.com/in/janemiller' },
        { email: 'x@acme.example', id: '17', name: 'John Smith' },
        { email: 'y@acme.example', id: '17', name: 'John Doe' },
      ],
      at('2025-03-01'),
    );
    expect(
      people(store)
        .map(({ name, email }) => `${String(name)} ${String(email)}`)
        .toSorted(),
    ).toEqual(['Jane Miller jane@acme.example', 'Jane Smith jane@other.example', 'John Doe y@acme.example', 'John Smith x@acme.example']);
    // Her former address belongs to another person now, who is not erased with her.
    expect(suppress(store, ['jane@other.example'], 7)).toMatchObject({ people: 1 });
    expect(openDirectory(store).personByEmail('jane@acme.example')?.person['name']).toBe('Jane Miller');
    store.close();
  });

  it('a person is found by former profiles and ids in lookups, imports and erasures', async () => {
    const store = await emptyStore();
    await load(store, [{ id: '7', email: 'jane@acme.example', name: 'Jane Smith', linkedin_url: 'profiles.example/in/jane' }], {
      asOf: '2025-01-01',
    });
    await load(store, [{ id: 'crm-7', email: 'jane@acme.example', linkedin_url: 'profiles.example/in/jane-smith' }], {
      asOf: '2025-02-01',
    });
    expect(
      (
        await load(
          store,
          [
            { linkedin_url: 'profiles.example/in/jane', name: 'Jane Smith' },
            { id: 'crm-7', title: 'CTO' },
          ],
          { asOf: '2025-01-15' },
        )
      ).counts,
    ).toMatchObject({ added: 0 });
    const directory = openDirectory(store);
    const found = [directory.personByProfile('profiles.example/in/jane'), directory.personById('crm-7'), directory.personById('7')];
    expect(found.map((row) => row?.person['title'])).toEqual(['CTO', 'CTO', 'CTO']);
    suppress(store, ['jane@acme.example'], 7);
    expect([
      directory.isSuppressed({ profile: 'profiles.example/in/jane' }),
      directory.isSuppressed({ id: 'crm-7', knownId: 'crm-7' }),
    ]).toEqual([true, true]);
    // Another person with that row number in another file is stored, but she is not.
    expect(
      (
        await load(store, [
          { id: '7', email: 'bob@bolt.example', name: 'Bob Beck' },
          { id: '7', name: 'Jane Miller', email: 'jane@home.example' },
        ])
      ).counts,
    ).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
    expect(people(store)).toMatchObject([{ name: 'Bob Beck' }]);
    store.close();
  });

  it('people are not merged by a role address, in any order', async () => {
    const store = await emptyStore();
    const rows = [
      { email: 'info@acme.example', name: 'Ann Abel', mobile: '+12125550100' },
      { email: 'info@acme.example', name: 'Bob Beck', title: 'CTO' },
    ];
    for (const added of [2, 0]) expect((await load(store, rows)).counts).toMatchObject({ added, updated: 0 });
    expect(people(store)).toMatchObject([
      { email: 'info@acme.example', name: 'Ann Abel' },
      { email: 'info@acme.example', name: 'Bob Beck', title: 'CTO' },
    ]);
    expect(people(store)[1]).not.toHaveProperty('mobile');
    store.close();
  });

  it('one personal address without any other likeness makes nobody one person: it is current for both', async () => {
    const store = await emptyStore();
    const rows = [
      { email: 'abelbeck@gmail.com', name: 'Ann Abel', title: 'CTO' },
      { email: 'abelbeck@gmail.com', name: 'Bob Beck', title: 'CFO' },
    ];
    const first = await load(store, rows);
    expect(first.counts).toMatchObject({ added: 2, sharedAddresses: 1, firstShared: 3 });
    // Each row finds its person again, and is told once.
    expect((await load(store, rows)).counts).toMatchObject({ added: 0, updated: 0, sharedAddresses: 0 });
    const both = [
      { email: 'abelbeck@gmail.com', name: 'Ann Abel' },
      { email: 'abelbeck@gmail.com', name: 'Bob Beck' },
    ];
    expect(people(store)).toMatchObject(both);
    expect(openDirectory(store).personByEmail('abelbeck@gmail.com')?.person['name']).toBe('Ann Abel');
    store.close();
  });

  it.each<[string, Record<string, unknown>[], number]>([
    ['a main and a further one', [{ email: 'x@gmail.com' }, { email: 'bob@acme.example', personal_emails: ['x@gmail.com'] }], 1],
    ['a further and a main one', [{ email: 'ann@acme.example', personal_emails: ['x@gmail.com'] }, { email: 'x@gmail.com' }], 1],
    [
      'two further ones',
      [
        { email: 'ann@acme.example', emails: ['x@gmail.com'] },
        { email: 'bob@acme.example', emails: ['x@gmail.com'] },
      ],
      1,
    ],
    [
      'of two functions',
      [
        { email: 'ann@acme.example', emails: ['info@x.example'] },
        { email: 'bob@acme.example', emails: ['info@x.example'] },
      ],
      0,
    ],
  ])('one address that two people have is said, whichever address of them it is: %s', async (_, [ann = {}, bob = {}], sharedAddresses) => {
    const store = await emptyStore();
    const rows = [
      { name: 'Ann Abel', ...ann },
      { name: 'Bob Beck', ...bob },
    ];
    expect((await load(store, rows)).counts).toMatchObject({ added: 2, sharedAddresses });
    expect((await load(store, rows)).counts).toMatchObject({ added: 0, sharedAddresses: 0 });
    store.close();
  });

  it('an address that a stored person gains from another one is said', async () => {
    const store = await emptyStore();
    await load(store, [
      { email: 'ann@acme.example', name: 'Ann Abel' },
      { email: 'bob@acme.example', name: 'Bob Beck' },
    ]);
    const gained = [{ email: 'bob@acme.example', name: 'Bob Beck', personal_emails: ['ann@acme.example'] }];
    expect((await load(store, gained, { asOf: '2026-02-01' })).counts).toMatchObject({ updated: 1, sharedAddresses: 1, firstShared: 2 });
    const again = [{ email: 'bob@acme.example', title: 'CTO' }];
    expect((await load(store, again, { asOf: '2026-03-01' })).counts).toMatchObject({ updated: 1, sharedAddresses: 0 });
    store.close();
  });

  const profile = 'profiles.example/in/ann-abel';

  it('an address that its first person leaves goes to the next one who has it', async () => {
    const store = await emptyStore();
    await load(store, [
      { email: 'abelbeck@gmail.com', name: 'Ann Abel', linkedin_url: profile },
      { email: 'abelbeck@gmail.com', name: 'Bob Beck' },
    ]);
    await load(store, [{ email: 'ann@acme.example', linkedin_url: profile }], { asOf: '2026-02-01' });
    const directory = openDirectory(store);
    expect(['abelbeck@gmail.com', 'ann@acme.example'].map((email) => directory.personByEmail(email)?.person['name'])).toEqual([
      'Bob Beck',
      'Ann Abel',
    ]);
    expect(people(store)).toMatchObject([{ email: 'ann@acme.example' }, { email: 'abelbeck@gmail.com', name: 'Bob Beck' }]);
    store.close();
  });

  it.each([
    { id: 'crm-7', mobile: undefined },
    { id: undefined, mobile: '+12125550100' },
  ])('a new name at the same address is the same person by %j', async (likeness) => {
    const store = await emptyStore();
    const rows = [
      { email: 'ann@acme.example', name: 'Test Contact', ...likeness },
      { email: 'ann@acme.example', name: 'Ann Abel', ...likeness },
    ];
    expect((await load(store, rows)).counts).toMatchObject({ added: 1, updated: 1, sharedAddresses: 0 });
    store.close();
  });

  it('an erasure does not spread over many people through one wrong profile', async () => {
    const store = await emptyStore();
    const many = Array.from({ length: 50 }, (_, n) => ({ email: `u${n}@acme.example`, name: `Given${n} Family${n}` }));
    await load(
      store,
      many.map((one) => ({ ...one, linkedin_url: 'linkedin.com/in/unknown' })),
      { asOf: '2025-01-01' },
    );
    const [row] = people(store);
    expect(row?.['emails']).toHaveLength(20);
    await load(
      store,
      many.map((one, n) => ({ ...one, linkedin_url: `linkedin.com/in/own${n}` })),
      { asOf: '2025-02-01' },
    );
    expect(suppress(store, ['u3@acme.example'], 7).people).toBeLessThanOrEqual(2);
    expect(people(store).length).toBeGreaterThan(45);
    store.close();
  });

  it('an erased person who returns by name and an id that another person has stays erased', async () => {
    const store = await emptyStore();
    await load(store, [
      { id: '1', email: 'alice@one.example', name: 'Alice One' },
      { id: '1', email: 'zoe@two.example', name: 'Zoe Two' },
    ]);
    suppress(store, ['zoe@two.example'], 7);
    expect(
      (
        await load(store, [
          { id: '1', name: 'Zoe Two' },
          { id: '1', email: 'alice@one.example', name: 'Alice One' },
        ])
      ).counts,
    ).toMatchObject({ added: 0, unchanged: 1, rejected: { suppressed: 1 } });
    store.close();
  });

  it('people are not merged by a company page in the place of a profile', async () => {
    const store = await emptyStore();
    const page = 'https://www.linkedin.com/company/acme';
    const { counts } = await load(store, [
      ['Email', 'Name', 'LinkedIn'],
      ['ann@acme.example', 'Ann A', 'linkedin.com/in/ann'],
      ['bob@acme.example', 'Bob B', page],
      ['cid@acme.example', 'Cid C', page],
    ]);
    expect(counts).toMatchObject({ added: 3, dropped: { linkedin_url: 2 } });
    await load(store, [{ email: 'ann@acme.example', linkedin_url: page }], { asOf: '2026-02-01' });
    expect(people(store).map(({ linkedin_url: profile }) => profile)).toEqual(['linkedin.com/in/ann', undefined, undefined]);
    store.close();
  });
});
