import { exportRecords } from '../../../src/service/admin/export/export-records.ts';
import { describe, expect, it, vi } from 'vitest';
import { Idempotency, type ClaimResult } from '../../../src/service/calls/idempotency.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../../src/service/store/rows/load.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { VerificationRows } from '../../../src/service/verify/verification-rows.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { emptyStore, load } from '../loading.ts';

const pathOf = (store: Store): string => String(store.prepare('PRAGMA database_list').get()?.['file']);

const found = (store: Store, email: string): unknown => openDirectory(store).personByEmail(email)?.person['id'];

describe('the people of an erasure', () => {
  it('an erasure follows addresses and profiles from row to row until it finds nobody new', async () => {
    const store = await emptyStore();
    loadPeople(
      store,
      [
        { id: 'pe_4', email: 'd@acme.example' },
        { id: 'pe_5', email: 'c@acme.example', linkedin_url: 'profiles.example/in/ada' },
        { email: 'd@acme.example', linkedin_url: 'profiles.example/in/ada' },
        { id: 'pe_2', email: 'b@acme.example', emails: ['c@acme.example'] },
        { id: 'pe_3', email: 'a@acme.example', emails: ['a@acme.example', 'b@acme.example'] },
        { id: 'pe_9', email: 'z@acme.example' },
      ],
      'crm',
    );
    expect(suppress(store, ['a@acme.example'], 7)).toMatchObject({ suppressed: 1, people: 4 });
    const directory = openDirectory(store);
    for (const name of ['a', 'b', 'c', 'd'])
      expect([directory.personByEmail(`${name}@acme.example`), directory.isSuppressed({ emails: [`${name}@acme.example`] })]).toEqual([
        null,
        true,
      ]);
    expect(found(store, 'z@acme.example')).toBe('pe_9');
    store.close();
  });

  it('an erasure reaches everybody who has the address, not only its first holder', async () => {
    const store = await emptyStore();
    loadPeople(
      store,
      [
        { id: 'pe_1', email: 'a@acme.example', emails: ['ours@home.example'] },
        { id: 'pe_2', email: 'b@acme.example', personal_emails: ['ours@home.example'] },
      ],
      'crm',
    );
    expect(found(store, 'ours@home.example')).toBe('pe_1');
    expect(suppress(store, ['ours@home.example'], 7)).toMatchObject({ people: 2 });
    expect(
      store.prepare('SELECT (SELECT count(*) FROM people) AS people, (SELECT count(*) FROM other_addresses) AS addresses').get(),
    ).toEqual({ people: 0, addresses: 0 });
    store.close();
  });

  it('an erasure says that people of different names share the address that was given', async () => {
    const store = await emptyStore();
    const home = { personal_emails: ['ours@home.example'] };
    loadPeople(
      store,
      [
        { id: 'pe_1', name: 'Ann Example', email: 'a@acme.example', ...home },
        { id: 'pe_2', name: 'Bob Sample', email: 'b@acme.example', ...home },
        { id: 'pe_3', name: 'Cy Other', email: 'c@acme.example', personal_emails: ['mine@home.example'] },
        { id: 'pe_4', name: 'Other, Cyrus', email: 'c@works.example', personal_emails: ['mine@home.example'] },
      ],
      'crm',
    );
    expect(suppress(store, ['mine@home.example'], 7)).toMatchObject({ people: 2, shared: 0 });
    expect(suppress(store, ['ours@home.example'], 7)).toMatchObject({ people: 2, shared: 1 });
    expect(['a@acme.example', 'b@acme.example'].map((email) => found(store, email))).toEqual([undefined, undefined]);
    store.close();
  });

  it('an erasure reaches no colleagues by a shared function address, unless that address was given', async () => {
    const store = await emptyStore();
    loadPeople(
      store,
      [
        { id: 'pe_1', email: 'a@acme.example', emails: ['info@acme.example'] },
        { id: 'pe_2', email: 'b@acme.example', emails: ['info@acme.example'] },
        { id: 'pe_3', email: 'c@acme.example', emails: ['info@acme.example'] },
      ],
      'crm',
    );
    expect(suppress(store, ['a@acme.example'], 7)).toMatchObject({ people: 1 });
    expect(found(store, 'info@acme.example')).toBe('pe_2');
    expect(suppress(store, ['info@acme.example'], 7)).toMatchObject({ suppressed: 1, people: 2 });
    store.close();
  });

  it('an erasure reaches nobody by a value that more than 20 people have, and keeps nobody out for it', async () => {
    const store = await emptyStore();
    const others = (most: number, more: (n: number) => SparseRecord): SparseRecord[] =>
      Array.from({ length: most }, (_, n) => ({ id: `pe_${n}`, email: `u${n}@acme.example`, name: `Person${n} No${n}`, ...more(n) }));
    // Each is known by an address before a profile shows that they are one person.
    loadPeople(
      store,
      others(21, () => ({})),
      'crm',
    );
    loadPeople(
      store,
      others(21, () => ({ personal_emails: ['none@none.example'], linkedin_url: 'profiles.example/in/none' })),
      'crm',
    );
    expect(suppress(store, ['u3@acme.example'], 7)).toMatchObject({ people: 1 });
    expect(found(store, 'u4@acme.example')).toBe('pe_4');
    const directory = openDirectory(store);
    expect([
      directory.isSuppressed({ emails: ['u3@acme.example'] }),
      directory.isSuppressed({ emails: ['none@none.example'] }),
      directory.isSuppressed({ profile: 'profiles.example/in/none' }),
    ]).toEqual([true, false, false]);
    // With 20 holders it is an ordinary address, and its erasure reaches all of them.
    expect(suppress(store, ['u4@acme.example'], 8)).toMatchObject({ people: 20 });
    loadPeople(
      store,
      others(30, () => ({ personal_emails: ['nobody@none.example'] })).map((person, n) => ({
        ...person,
        id: `px_${n}`,
        email: `v${n}@acme.example`,
      })),
      'crm',
    );
    expect(suppress(store, ['nobody@none.example'], 9)).toMatchObject({ people: 30 });
    store.close();
  });
});

describe('other rows that an erasure removes', () => {
  it('an erasure removes signals that name the person by id, or by name at the same company, but not those of a namesake', async () => {
    const store = await emptyStore();
    const signal = (id: string, person: SparseRecord, domain = 'acme.example'): SparseRecord => ({
      id,
      type: 'executive_move',
      domain,
      occurred_at: '2026-01-01',
      person,
    });
    loadCompanies(store, [{ domain: 'acme.example', name: 'Acme', domain_aliases: ['acme.test', 'acme.net'] }], 'crm');
    loadPeople(
      store,
      [
        {
          id: 'pe_1',
          email: 'ada@acme.example',
          name: 'Ada Éxample',
          first_name: 'Ada Maria',
          last_name: 'Example',
          company_domain: 'acme.test',
        },
        { id: 'pe_2', email: 'ada2@acme.example', name: 'Ada Example', company_domain: 'acme.example' },
      ],
      'crm',
    );
    loadSignals(
      store,
      [
        signal('by_id', { id: 'pe_1', name: 'A. E.' }, 'elsewhere.example'),
        signal('by_name', { name: 'ADA  example', title: 'CTO' }),
        signal('by_parts', { name: 'Ada Maria Example' }),
        signal('by_other_domain', { name: 'Ada Maria Example' }, 'acme.net'),
        signal('namesake', { id: 'pe_2', name: 'Ada Example' }),
        signal('elsewhere', { name: 'Ada Example' }, 'elsewhere.example'),
        signal('other', { name: 'Max Past' }),
      ],
      'crm',
    );
    const directory = openDirectory(store);
    expect(directory.companyByDomain('acme.example')).toMatch(/by_parts.*by_other_domain|by_other_domain.*by_parts/);
    const other = openStore(pathOf(store));
    expect(suppress(other, ['ada@acme.example'], 7)).toMatchObject({ people: 1, signals: 4 });
    other.close();
    expect(directory.companyByDomain('acme.example')).not.toMatch(/by_name|by_parts|by_other_domain|Maria/);
    expect([...exportRecords(store, 'signals', false)].map(({ id }) => id)).toEqual(['namesake', 'elsewhere', 'other']);
    store.close();
  });

  it('removes signals of any company with one of their addresses or only their mobile number, and admits none again', async () => {
    const store = await emptyStore();
    const signal = (id: string, person: SparseRecord, domain = 'acme.example'): SparseRecord => ({
      id,
      type: 'executive_move',
      domain,
      occurred_at: '2026-01-01',
      person,
    });
    loadPeople(
      store,
      [{ email: 'ada@acme.example', personal_emails: ['ada@home.example'], mobile: '+12125550100', company_domain: 'acme.example' }],
      'crm',
    );
    const signals = [
      signal('first', { name: 'A', emails: [{ email: 'ADA@home.example' }] }),
      signal('second', { emails: ['x@acme.example', 'ada@acme.example'] }),
      signal('beside', { email: 'y@acme.example', personal_emails: ['ada@home.example'] }),
      signal('other', { emails: ['max@acme.example'], mobile: '+12125550199' }),
      signal('elsewhere', { emails: ['x@acme.example', 'ada@home.example'] }, 'other.example'),
      signal('cell', { phones: [{ type: 'Cell', number: '+1 (212) 555-0100' }] }, 'other.example'),
    ];
    loadSignals(store, signals, 'crm');
    expect(suppress(store, ['ada@acme.example'], 7)).toMatchObject({ people: 1, signals: 5 });
    expect(await load(store, [...signals, signal('number', { mobile: '+1 212 555 0100' })], { kind: 'signals' })).toMatchObject({
      counts: { unchanged: 1, rejected: { suppressed: 6 } },
    });
    expect([...exportRecords(store, 'signals', false)].map(({ id }) => id)).toEqual(['other']);
    store.close();
  });

  it('an erasure removes a signal from every company that shows it, also when several share its id', async () => {
    const store = await emptyStore();
    loadCompanies(store, [{ domain: 'acme.example' }, { domain: 'other.example' }], 'crm');
    const shown = (domain: string): boolean => String(openDirectory(store).companyByDomain(domain)).includes('Eve Example');
    for (const domain of ['acme.example', 'other.example'])
      loadSignals(
        store,
        [
          {
            id: 'sg_1',
            type: 'hiring',
            occurred_at: '2026-01-01',
            company: { domain },
            person: { name: 'Eve Example', email: 'eve@acme.example' },
          },
        ],
        'crm',
      );
    expect([shown('acme.example'), shown('other.example')]).toEqual([true, true]);
    suppress(store, ['eve@acme.example'], 7);
    expect([shown('acme.example'), shown('other.example')]).toEqual([false, false]);
    store.close();
  });
});

describe('the time of an erasure', () => {
  it('the time of an erasure is taken when no other writer is left', async () => {
    const store = await emptyStore();
    cleanUp(() => void vi.restoreAllMocks());
    vi.spyOn(Date, 'now').mockImplementation(() => (store.isTransaction ? 2 : 1));
    suppress(store, ['ada@acme.example']);
    expect(store.books.prepare('SELECT DISTINCT at FROM suppressions').all()).toEqual([{ at: 2 }]);
  });

  it('the time of an erasure is never before an answer that was stored, even if a clock was set back since', async () => {
    const store = await emptyStore();
    const journal = new Journal(store, (error) => {
      throw error;
    });
    const aheadMs = (hours: number): number => Date.now() + hours * 3_600_000;
    const idempotency = new Idempotency(store, journal, () => aheadMs(1));
    const verifications = new VerificationRows(store, journal);
    const remember = (email: string): ClaimResult['kind'] => {
      const begun = idempotency.claim('k', email, '/v1/emails/verify', new Uint8Array());
      if (begun.kind === 'new')
        idempotency.finish(begun.ticket, { status: 200, headers: {}, text: JSON.stringify({ email }), named: {}, secret: null });
      return begun.kind;
    };
    for (const email of ['ada@acme.example', 'bob@acme.example']) {
      // An erasure does not move later ones forward, and they reach what comes after it.
      remember(email);
      verifications.put({
        id: email,
        keyId: 'k',
        startedAtMs: aheadMs(2),
        request: { emails: [email, 'max@acme.example'], mode: 'full', timeoutMs: null, maxAgeS: null, webhookUrl: null },
        results: [],
        done: true,
        paid: true,
      });
      journal.flush();
      suppress(store, [email]);
      expect(remember(email)).toBe('erased');
      expect(verifications.find(email)?.request.emails).toEqual([null, 'max@acme.example']);
    }
    journal.close();
    store.close();
  });
});
