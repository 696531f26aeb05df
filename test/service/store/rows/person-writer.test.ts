import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { openDirectory } from '../../../../src/service/store/directory.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { emptyStore, load } from '../../loading.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];
const profile = 'https://profiles.example/in/jane-doe';

/** A store with these rows, each imported separately. */
async function storeOf(rows: readonly SparseRecord[]): Promise<Store> {
  const store = await emptyStore();
  for (const row of rows) await load(store, [row]);
  return store;
}

/** Checks that must hold in either order of two rows. */
async function inBothOrders(rows: readonly [SparseRecord, SparseRecord], check: (store: Store) => Promise<void> | void): Promise<void> {
  for (const order of [rows, rows.toReversed()]) {
    const store = await storeOf(order);
    expect(people(store)).toHaveLength(1);
    await check(store);
    store.close();
  }
}

it.each(['info@acme.example', 'none@acme.example'])(
  'hundreds of people who share %s are recognised again, with ids of constant length',
  async (email) => {
    const rows = Array.from({ length: 100 }, (_, n) => ({
      email,
      name: `First${n} Last${n}`,
      ...(email.startsWith('none') ? { linkedin_url: `https://profiles.example/in/p${n}` } : {}),
    }));
    const store = await storeOf([]);
    for (let time = 0; time < 2; time++) await load(store, rows);
    expect(
      people(store)
        .map(({ name }) => String(name))
        .toSorted(),
    ).toEqual(rows.map(({ name }) => name).toSorted());
    expect(Math.max(...people(store).map(({ id }) => String(id).length))).toBeLessThan(30);
    store.close();
  },
);

it('a name without letters is not a name: a person erased with it does not return by the id', async () => {
  const store = await storeOf([{ id: '7', email: 'dash@acme.example', name: '-' }]);
  suppress(store, ['dash@acme.example'], 7);
  expect((await load(store, [{ id: '7', name: '-' }])).counts).toMatchObject({ added: 0, rejected: { suppressed: 1 } });
  store.close();
});

describe('a former key of a person', () => {
  const before = {
    email: 'jane@old.example',
    linkedin_url: profile,
    name: 'Jane Doe',
    mobile: '+12125550100',
    email_status: 'verified',
    email_verified_at: '2025-11-01',
    updated_at: '2025-11-01',
  };
  const after = { email: 'jane@new.example', linkedin_url: profile, mobile: '+12125550101', title: 'CTO', updated_at: '2025-11-10' };

  it('a former key still finds the person, and no answer shows it', async () => {
    await inBothOrders([before, after], (store) => {
      const directory = openDirectory(store);
      const found = directory.personByEmail('jane@old.example');
      expect(found?.person).toMatchObject({ email: 'jane@new.example', mobile: '+12125550101' });
      for (const answer of [JSON.stringify(found?.person), found?.text({ matchedOn: ['email'], likelihood: 98 }, null) ?? ''])
        for (const key of ['jane@old.example', '+12125550100', 'former']) expect(answer).not.toContain(key);
      // An export has them, so that another store finds the person too.
      expect(people(store)).toMatchObject([
        {
          emails: [{ email: 'jane@old.example', type: 'former', status: 'verified' }],
          phones: [{ number: '+12125550100', type: 'former_mobile' }],
        },
      ]);
      expect(directory.personByNumber('+12125550100')).toMatchObject({ isMobile: true });
      // The verdict is about the other address.
      expect([people(store)[0]?.['email_status'], directory.mailbox('jane@new.example')]).toEqual([undefined, []]);
    });
  });

  it.each(['jane@old.example', 'jane@new.example'])(
    'a former key is erased with its person, by an erasure of %s, and so are signals and deliveries',
    async (email) => {
      await inBothOrders([before, after], async (store) => {
        await load(
          store,
          [
            ['email', 'event', 'at'],
            ['jane@old.example', 'delivered', '2025-10-01'],
          ],
          { kind: 'deliveries' },
        );
        await load(
          store,
          [{ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { email: 'jane@old.example' } }],
          { kind: 'signals' },
        );
        expect(suppress(store, [email], 7)).toMatchObject({ people: 1, signals: 1, deliveries: 1 });
        expect(
          (
            await load(store, [
              { email: 'jane@old.example', name: 'Jane Doe' },
              { email: 'j@home.example', mobile: '+12125550100' },
            ])
          ).counts,
        ).toMatchObject({ added: 0, rejected: { suppressed: 2 } });
      });
    },
  );

  it('a former address becomes the main one again with its verdict when a newer row has it', async () => {
    const store = await storeOf([before, after, { email: 'jane@old.example', updated_at: '2025-11-20' }]);
    expect(people(store)).toMatchObject([
      { email: 'jane@old.example', email_status: 'verified', title: 'CTO', emails: [{ email: 'jane@new.example', type: 'former' }] },
    ]);
    store.close();
  });

  it('former keys survive an export and import', async () => {
    const store = await storeOf([before, after]);
    const elsewhere = await storeOf(people(store));
    expect(people(elsewhere)).toEqual(people(store));
    await load(elsewhere, [{ email: 'jane@third.example', linkedin_url: profile, updated_at: '2025-12-01', emails: ['jd@home.example'] }]);
    for (const name of ['jane@old', 'jane@new', 'jane@third'])
      expect(openDirectory(elsewhere).personByEmail(`${name}.example`)?.person['email']).toBe('jane@third.example');
    store.close();
    elsewhere.close();
  });

  it('a verdict of an output on an older address does not apply to the newer one', async () => {
    const output = {
      input: { email: 'jane@old.example' },
      result: { outcome: 'matched' },
      enrich: { email: 'jane@old.example', linkedin_url: profile, updated_at: '2025-10-01' },
      verify: { email: 'jane@old.example', result: 'undeliverable', confidence: 0, verified_at: '2025-11-20T00:00:00Z' },
    };
    await inBothOrders([output, { ...before, email: 'jane@new.example' }], (store) => {
      expect(people(store)).toMatchObject([
        { email: 'jane@new.example', email_status: 'verified', emails: [{ email: 'jane@old.example', status: 'bounced' }] },
      ]);
    });
  });
});

describe('a status without an address', () => {
  const known = { linkedin_url: profile, email: 'jane@new.example', updated_at: '2025-11-01' };
  const told = { linkedin_url: profile, email_status: 'bounced', updated_at: '2025-11-10' };

  it('a status without an address is attached to no address of the person, and is reported as dropped', async () => {
    await inBothOrders([known, told], (store) => expect(people(store)[0]).not.toHaveProperty('email_status'));
    const store = await storeOf([known]);
    for (const _again of [1, 2]) expect((await load(store, [told])).counts).toMatchObject({ added: 0, dropped: { email_status: 1 } });
    store.close();
  });

  it('a status without an address is shown for a person without an address', async () => {
    const store = await storeOf([told]);
    expect(people(store)).toMatchObject([{ email_status: 'bounced' }]);
    store.close();
  });
});

describe('the employer of a person', () => {
  const kim = { email: 'kim@acme.example', name: 'Kim Lee' };
  const employer = (store: Store): unknown =>
    people(store).map(({ company_domain: domain = null, company_name: name = null }) => [domain, name]);

  it.each(['2025-11-01', '2025-11-20'])('an employer in a row of %s outranks the address of another row', async (day) => {
    const given = { ...kim, company: { name: 'Acme Group', domain: 'acme-group.example' }, updated_at: day };
    await inBothOrders([given, { ...kim, title: 'CFO', updated_at: '2025-11-10' }], (store) =>
      expect(employer(store)).toEqual([['acme-group.example', null]]),
    );
  });

  it('an employer is derived from the newer address if no row reports one', async () => {
    await inBothOrders(
      [
        { ...kim, linkedin_url: profile, updated_at: '2025-11-01' },
        { email: 'kim@other.example', linkedin_url: profile, updated_at: '2025-11-10' },
      ],
      (store) => expect(employer(store)).toEqual([['other.example', null]]),
    );
  });

  it('an employer never has the domain of one company and the name of another', async () => {
    const lee = { email: 'lee@gmail.com' };
    const domain = { ...lee, company_domain: 'new.example', updated_at: '2025-11-10' };
    await inBothOrders([{ ...lee, company: 'Old Corp', updated_at: '2025-11-01' }, domain], (store) =>
      expect(employer(store)).toEqual([['new.example', null]]),
    );
    await inBothOrders([domain, { ...lee, company: 'Third Inc', updated_at: '2025-11-15' }], (store) =>
      expect(employer(store)).toEqual([[null, 'Third Inc']]),
    );
  });

  it('an employer keeps its domain when a newer row has only the same name', async () => {
    const lee = { email: 'lee@gmail.com' };
    await inBothOrders(
      [
        { ...lee, company: { name: 'Acme', domain: 'acme.example' }, updated_at: '2025-11-01' },
        { ...lee, company: 'ACME', updated_at: '2025-11-10' },
      ],
      (store) => expect(employer(store)).toEqual([['acme.example', null]]),
    );
  });

  it('an employer is not changed by a repeated row without one', async () => {
    const store = await storeOf([kim]);
    expect((await load(store, [kim, kim])).counts).toMatchObject({ unchanged: 2 });
    expect(employer(store)).toEqual([['acme.example', null]]);
    store.close();
  });
});
