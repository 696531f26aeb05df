import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../src/service/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { emptyStore, load } from '../loading.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];
const profile = 'https://profiles.example/in/jane-doe';

/** A store of these rows, each imported by itself. */
async function storeOf(rows: readonly SparseRecord[]): Promise<Store> {
  const store = await emptyStore();
  for (const row of rows) await load(store, [row]);
  return store;
}

/** What is to hold in either order of two rows. */
async function inBothOrders(rows: readonly [SparseRecord, SparseRecord], check: (store: Store) => Promise<void> | void): Promise<void> {
  for (const order of [rows, rows.toReversed()]) {
    const store = await storeOf(order);
    expect(people(store)).toHaveLength(1);
    await check(store);
    store.close();
  }
}

it.each(['info@acme.example', 'none@acme.example'])('hundreds of others at %s come again as who they are, each with an id of a length that does not grow', async (email) => {
  const rows = Array.from({ length: 100 }, (_, n) => ({ email, name: `First${n} Last${n}`, ...(email.startsWith('none') ? { linkedin_url: `https://profiles.example/in/p${n}` } : {}) }));
  const store = await storeOf([]);
  for (let time = 0; time < 2; time++) await load(store, rows);
  expect(people(store).map(({ name }) => String(name)).toSorted()).toEqual(rows.map(({ name }) => name).toSorted());
  expect(Math.max(...people(store).map(({ id }) => String(id).length))).toBeLessThan(30);
  store.close();
});

it('a name without a word in it is none: whoever was erased with it does not come back by the id', async () => {
  const store = await storeOf([{ id: '7', email: 'dash@acme.example', name: '-' }]);
  suppress(store, ['dash@acme.example'], 7);
  expect((await load(store, [{ id: '7', name: '-' }])).counts).toMatchObject({ added: 0, rejected: { suppressed: 1 } });
  store.close();
});

describe('what somebody was known by', () => {
  const before = { email: 'jane@old.example', linkedin_url: profile, name: 'Jane Doe', mobile: '+12125550100', email_status: 'verified', email_verified_at: '2025-11-01', updated_at: '2025-11-01' };
  const after = { email: 'jane@new.example', linkedin_url: profile, mobile: '+12125550101', title: 'CTO', updated_at: '2025-11-10' };

  it('stays theirs, and leads to them', async () => {
    await inBothOrders([before, after], (store) => {
      const directory = openDirectory(store);
      expect(directory.personByEmail('jane@old.example')?.person).toMatchObject({
        email: 'jane@new.example', mobile: '+12125550101', emails: [{ email: 'jane@old.example', type: 'former', status: 'verified' }], phones: [{ number: '+12125550100', type: 'former_mobile' }],
      });
      expect(directory.personByNumber('+12125550100')).toMatchObject({ isMobile: true });
      // What was verified was the other address.
      expect([people(store)[0]?.['email_status'], directory.mailbox('jane@new.example')]).toEqual([undefined, []]);
    });
  });

  it.each(['jane@old.example', 'jane@new.example'])('is erased with them, asked for by %s, with signals and deliveries, and brings nobody back', async (email) => {
    await inBothOrders([before, after], async (store) => {
      await load(store, [['email', 'event', 'at'], ['jane@old.example', 'delivered', '2025-10-01']], { kind: 'deliveries' });
      await load(store, [{ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { email: 'jane@old.example' } }], { kind: 'signals' });
      expect(suppress(store, [email], 7)).toMatchObject({ people: 1, signals: 1, deliveries: 1 });
      expect((await load(store, [{ email: 'jane@old.example', name: 'Jane Doe' }, { email: 'j@home.example', mobile: '+12125550100' }])).counts).toMatchObject({ added: 0, rejected: { suppressed: 2 } });
    });
  });

  it('is the main one again, with the verdict on it, when a newer row says so', async () => {
    const store = await storeOf([before, after, { email: 'jane@old.example', updated_at: '2025-11-20' }]);
    expect(people(store)).toMatchObject([{ email: 'jane@old.example', email_status: 'verified', title: 'CTO', emails: [{ email: 'jane@new.example', type: 'former' }] }]);
    store.close();
  });

  it('is kept by an export that is imported elsewhere', async () => {
    const store = await storeOf([before, after]);
    const elsewhere = await storeOf(people(store));
    expect(people(elsewhere)).toEqual(people(store));
    await load(elsewhere, [{ email: 'jane@third.example', linkedin_url: profile, updated_at: '2025-12-01', emails: ['jd@home.example'] }]);
    for (const name of ['jane@old', 'jane@new', 'jane@third']) expect(openDirectory(elsewhere).personByEmail(`${name}.example`)?.person['email']).toBe('jane@third.example');
    store.close();
    elsewhere.close();
  });

  it('has no part in a verdict that an output has on an older address', async () => {
    const output = { input: { email: 'jane@old.example' }, result: { outcome: 'matched' }, enrich: { email: 'jane@old.example', linkedin_url: profile, updated_at: '2025-10-01' }, verify: { email: 'jane@old.example', result: 'undeliverable', confidence: 0, verified_at: '2025-11-20T00:00:00Z' } };
    await inBothOrders([output, { ...before, email: 'jane@new.example' }], (store) => {
      expect(people(store)).toMatchObject([{ email: 'jane@new.example', email_status: 'verified', emails: [{ email: 'jane@old.example', status: 'bounced' }] }]);
    });
  });
});

describe('a status that came without an address', () => {
  const known = { linkedin_url: profile, email: 'jane@new.example', updated_at: '2025-11-01' };
  const told = { linkedin_url: profile, email_status: 'bounced', updated_at: '2025-11-10' };

  it('is of none that somebody has, whichever came first, and is said to be left out', async () => {
    await inBothOrders([known, told], (store) => expect(people(store)[0]).not.toHaveProperty('email_status'));
    const store = await storeOf([known]);
    for (const _again of [1, 2]) expect((await load(store, [told])).counts).toMatchObject({ added: 0, dropped: { email_status: 1 } });
    store.close();
  });

  it('is shown of whoever has none', async () => {
    const store = await storeOf([told]);
    expect(people(store)).toMatchObject([{ email_status: 'bounced' }]);
    store.close();
  });
});

describe('where somebody works', () => {
  const kim = { email: 'kim@acme.example', name: 'Kim Lee' };
  const employer = (store: Store): unknown => people(store).map(({ company_domain: domain = null, company_name: name = null }) => [domain, name]);

  it.each(['2025-11-01', '2025-11-20'])('is what a row says, whatever the address of another says, given on %s', async (day) => {
    const given = { ...kim, company: { name: 'Acme Group', domain: 'acme-group.example' }, updated_at: day };
    await inBothOrders([given, { ...kim, title: 'CFO', updated_at: '2025-11-10' }], (store) => expect(employer(store)).toEqual([['acme-group.example', null]]));
  });

  it('is what the newer address says where no row says it', async () => {
    await inBothOrders([{ ...kim, linkedin_url: profile, updated_at: '2025-11-01' }, { email: 'kim@other.example', linkedin_url: profile, updated_at: '2025-11-10' }], (store) => expect(employer(store)).toEqual([['other.example', null]]));
  });

  it('is one company: no name of another beside a domain, and no domain of another beside a name', async () => {
    const lee = { email: 'lee@gmail.com' };
    const domain = { ...lee, company_domain: 'new.example', updated_at: '2025-11-10' };
    await inBothOrders([{ ...lee, company: 'Old Corp', updated_at: '2025-11-01' }, domain], (store) => expect(employer(store)).toEqual([['new.example', null]]));
    await inBothOrders([domain, { ...lee, company: 'Third Inc', updated_at: '2025-11-15' }], (store) => expect(employer(store)).toEqual([[null, 'Third Inc']]));
  });

  it('keeps its domain when a newer row has the same name alone', async () => {
    const lee = { email: 'lee@gmail.com' };
    await inBothOrders([{ ...lee, company: { name: 'Acme', domain: 'acme.example' }, updated_at: '2025-11-01' }, { ...lee, company: 'ACME', updated_at: '2025-11-10' }], (store) => expect(employer(store)).toEqual([['acme.example', null]]));
  });

  it('is the same when a row comes again that says nothing of it', async () => {
    const store = await storeOf([kim]);
    expect((await load(store, [kim, kim])).counts).toMatchObject({ unchanged: 2 });
    expect(employer(store)).toEqual([['acme.example', null]]);
    store.close();
  });
});
