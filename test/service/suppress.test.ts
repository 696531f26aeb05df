import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { exportRecords } from '../../src/service/export/export-records.ts';
import { Idempotency, type Begun } from '../../src/service/idempotency.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { loadCompanies, loadPeople, loadSignals } from '../../src/service/store/load.ts';
import { Journal } from '../../src/service/store/journal.ts';
import { textsOf } from '../../src/service/store/answer-rows.ts';
import { openDirectory } from '../../src/service/store/directory.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { VerificationRows } from '../../src/service/store/verification-rows.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import { cleanUp } from '../support/clean-up.ts';
import { emptyStore, load } from './loading.ts';
import { backTo } from './older-stores.ts';
import { makeStore, serveStore, temporaryFolder, type Reply } from './harness.ts';

const pathOf = (store: Store): string => String(store.prepare('PRAGMA database_list').get()?.['file']);
const found = (store: Store, email: string): unknown => openDirectory(store).personByEmail(email)?.person['id'];

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
    const directory = openDirectory(store);
    for (const name of ['a', 'b', 'c', 'd']) expect([directory.personByEmail(`${name}@acme.example`), directory.isSuppressed({ emails: [`${name}@acme.example`] })]).toEqual([null, true]);
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

  it('takes nobody for what more have than one person can, and keeps nobody out for it', async () => {
    const store = await emptyStore();
    const others = (most: number, more: (n: number) => SparseRecord): SparseRecord[] => Array.from({ length: most }, (_, n) => ({ id: `pe_${n}`, email: `u${n}@acme.example`, name: `Person${n} No${n}`, ...more(n) }));
    // Each is known by an address before a profile says that they are one.
    loadPeople(store, others(21, () => ({})), 'crm');
    loadPeople(store, others(21, () => ({ personal_emails: ['none@none.example'], linkedin_url: 'profiles.example/in/none' })), 'crm');
    expect(suppress(store, ['u3@acme.example'], 7)).toMatchObject({ people: 1 });
    expect(found(store, 'u4@acme.example')).toBe('pe_4');
    const directory = openDirectory(store);
    expect([directory.isSuppressed({ emails: ['u3@acme.example'] }), directory.isSuppressed({ emails: ['none@none.example'] }), directory.isSuppressed({ profile: 'profiles.example/in/none' })]).toEqual([true, false, false]);
    // Of twenty it is an address as any other; and whoever names it means all of them.
    expect(suppress(store, ['u4@acme.example'], 8)).toMatchObject({ people: 20 });
    loadPeople(store, others(30, () => ({ personal_emails: ['nobody@none.example'] })).map((person, n) => ({ ...person, id: `px_${n}`, email: `v${n}@acme.example` })), 'crm');
    expect(suppress(store, ['nobody@none.example'], 9)).toMatchObject({ people: 30 });
    store.close();
  });

  it('knows all who have an address in a store that was made when one person had it alone', async () => {
    const path = join(await temporaryFolder(), 'fifth.sqlite');
    const old = openStore(path);
    loadPeople(old, [{ id: 'pe_1', email: 'a@acme.example', emails: ['ours@home.example'] }, { id: 'pe_2', email: 'b@acme.example', emails: [{ email: 'OURS@home.example' }] }], 'crm');
    backTo(old, 5);
    old.close();
    const store = openStore(path);
    expect(suppress(store, ['ours@home.example'], 7)).toMatchObject({ people: 2 });
    store.close();
  });
});

describe('what an erasure takes beside the person', () => {
  it('takes signals that name them by id, and by name where they work, and leaves those of a namesake', async () => {
    const store = await emptyStore();
    const signal = (id: string, person: SparseRecord, domain = 'acme.example'): SparseRecord => ({ id, type: 'executive_move', domain, occurred_at: '2026-01-01', person });
    loadCompanies(store, [{ domain: 'acme.example', name: 'Acme', domain_aliases: ['acme.test', 'acme.net'] }], 'crm');
    loadPeople(store, [
      { id: 'pe_1', email: 'ada@acme.example', name: 'Ada Éxample', first_name: 'Ada Maria', last_name: 'Example', company_domain: 'acme.test' },
      { id: 'pe_2', email: 'ada2@acme.example', name: 'Ada Example', company_domain: 'acme.example' },
    ], 'crm');
    loadSignals(store, [
      signal('by_id', { id: 'pe_1', name: 'A. E.' }, 'elsewhere.example'),
      signal('by_name', { name: 'ADA  example', title: 'CTO' }),
      signal('by_parts', { name: 'Ada Maria Example' }),
      signal('by_other_domain', { name: 'Ada Maria Example' }, 'acme.net'),
      signal('namesake', { id: 'pe_2', name: 'Ada Example' }),
      signal('elsewhere', { name: 'Ada Example' }, 'elsewhere.example'),
      signal('other', { name: 'Max Past' }),
    ], 'crm');
    const directory = openDirectory(store);
    expect(directory.companyByDomain('acme.example')).toMatch(/by_parts.*by_other_domain|by_other_domain.*by_parts/);
    const other = openStore(pathOf(store));
    expect(suppress(other, ['ada@acme.example'], 7)).toMatchObject({ people: 1, signals: 4 });
    other.close();
    expect(directory.companyByDomain('acme.example')).not.toMatch(/by_name|by_parts|by_other_domain|Maria/);
    expect([...exportRecords(store, 'signals', false)].map(({ id }) => id)).toEqual(['namesake', 'elsewhere', 'other']);
    store.close();
  });

  it('takes signals of any company that list an address of theirs among others or have their mobile number alone, and lets none in again', async () => {
    const store = await emptyStore();
    const signal = (id: string, person: SparseRecord, domain = 'acme.example'): SparseRecord => ({ id, type: 'executive_move', domain, occurred_at: '2026-01-01', person });
    loadPeople(store, [{ email: 'ada@acme.example', personal_emails: ['ada@home.example'], mobile: '+12125550100', company_domain: 'acme.example' }], 'crm');
    const signals = [
      signal('first', { name: 'A', emails: [{ email: 'ADA@home.example' }] }), signal('second', { emails: ['x@acme.example', 'ada@acme.example'] }), signal('beside', { email: 'y@acme.example', personal_emails: ['ada@home.example'] }),
      signal('other', { emails: ['max@acme.example'], mobile: '+12125550199' }),
      signal('elsewhere', { emails: ['x@acme.example', 'ada@home.example'] }, 'other.example'), signal('cell', { phones: [{ type: 'Cell', number: '+1 (212) 555-0100' }] }, 'other.example'),
    ];
    loadSignals(store, signals, 'crm');
    expect(suppress(store, ['ada@acme.example'], 7)).toMatchObject({ people: 1, signals: 5 });
    expect(await load(store, [...signals, signal('number', { mobile: '+1 212 555 0100' })], { kind: 'signals' })).toMatchObject({ counts: { unchanged: 1, rejected: { suppressed: 6 } } });
    expect([...exportRecords(store, 'signals', false)].map(({ id }) => id)).toEqual(['other']);
    store.close();
  });

  it('takes them from every company that shows a signal of them, also from several that one id is given by', async () => {
    const store = await emptyStore();
    loadCompanies(store, [{ domain: 'acme.example' }, { domain: 'other.example' }], 'crm');
    const shown = (domain: string): boolean => String(openDirectory(store).companyByDomain(domain)).includes('Eve Example');
    for (const domain of ['acme.example', 'other.example']) loadSignals(store, [{ id: 'sg_1', type: 'hiring', occurred_at: '2026-01-01', company: { domain }, person: { name: 'Eve Example', email: 'eve@acme.example' } }], 'crm');
    expect([shown('acme.example'), shown('other.example')]).toEqual([true, true]);
    suppress(store, ['eve@acme.example'], 7);
    expect([shown('acme.example'), shown('other.example')]).toEqual([false, false]);
    store.close();
  });

  it('knows of whom signals are in a store of before', async () => {
    const path = join(await temporaryFolder(), 'sixth.sqlite');
    const old = openStore(path);
    loadPeople(old, [{ id: 'pe_1', email: 'ada@acme.example' }], 'crm');
    loadSignals(old, [{ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { id: 'pe_1' } }], 'crm');
    backTo(old, 6);
    old.close();
    const store = openStore(path);
    expect(suppress(store, ['ada@acme.example'], 7)).toMatchObject({ signals: 1 });
    store.close();
  });
});

describe('answers that are remembered', () => {
  it('are erased when they name somebody who was, whether written or not, and are 451 from then on', async () => {
    const path = await makeStore();
    const service = await serveStore({ store: path });
    const verify = (key: string, email: string): Promise<Reply> => service.post('/v1/emails/verify', { emails: [email] }, { headers: { 'idempotency-key': key } });
    const replayed = async (key: string, email: string): Promise<string | null> => (await verify(key, email)).headers.get('idempotency-replayed');
    const long = { emails: ['Jane.Doe@acme.example', ...Array.from({ length: 5 }, (_, n) => `n${n}@acme.example`)] };
    await verify('short', 'JANE.DOE@acme.example');
    await verify('other', 'max.past@acme.example');
    await service.post('/v1/emails/verify', long, { headers: { 'idempotency-key': 'long' } });
    expect(await replayed('short', 'JANE.DOE@acme.example')).toBe('true');
    const store = openStore(path);
    await expect.poll(() => store.prepare('SELECT count(block) AS n FROM answers').get()).toEqual({ n: 3 });
    const texts = (): string => store.prepare('SELECT texts FROM answer_blocks').all().map((row) => Buffer.from(textsOf(row)).toString()).join('');
    expect(texts()).toMatch(/jane\.doe@/i);
    suppress(store, ['jane.doe@acme.example'], Date.now());
    expect(store.prepare('SELECT count(block) AS n FROM answers').get()).toEqual({ n: 1 });
    expect(texts()).not.toMatch(/jane\.doe@/i);
    expect(await replayed('other', 'max.past@acme.example')).toBe('true');
    expect((await verify('short', 'JANE.DOE@acme.example')).json['code']).toBe('suppressed_person');
    await service.close();
    store.close();
  });

  it('are not written any more when they were given before', async () => {
    const store = await emptyStore();
    const journal = new Journal(store, (error) => { throw error; });
    const idempotency = new Idempotency(store, journal, () => 1_000);
    const body = new Uint8Array();
    const answer = (key: string, email: string): void => {
      const begun = idempotency.begin('k', key, '/v1/emails/verify', body);
      if (begun.kind === 'new') idempotency.finish(begun.ticket, { status: 200, headers: {}, text: JSON.stringify({ email }), named: {}, secret: null });
    };
    answer('gone', 'ADA@acme.example');
    answer('kept', 'max@acme.example');
    suppress(store, ['ada@acme.example'], 1_001);
    expect(['kept', 'gone'].map((key) => idempotency.begin('k', key, '/v1/emails/verify', body).kind)).toEqual(['replay', 'erased']);
    journal.flush();
    expect([idempotency.begin('k', 'gone', '/v1/emails/verify', body).kind, store.prepare('SELECT count(block) AS n FROM answers').get()]).toEqual(['erased', { n: 1 }]);
    journal.close();
    store.close();
  });
});

describe('the time of an erasure', () => {
  it('is when nobody else writes any more', async () => {
    const store = await emptyStore();
    cleanUp(() => void vi.restoreAllMocks());
    vi.spyOn(Date, 'now').mockImplementation(() => (store.isTransaction ? 2 : 1));
    suppress(store, ['ada@acme.example']);
    expect(store.prepare('SELECT DISTINCT at FROM suppressions').all()).toEqual([{ at: 2 }]);
  });

  it('is no earlier than what was remembered before, though by a clock that was put back since', async () => {
    const store = await emptyStore();
    const journal = new Journal(store, (error) => { throw error; });
    const aheadMs = (hours: number): number => Date.now() + hours * 3_600_000;
    const idempotency = new Idempotency(store, journal, () => aheadMs(1));
    const verifications = new VerificationRows(store, journal);
    const remember = (email: string): Begun['kind'] => {
      const begun = idempotency.begin('k', email, '/v1/emails/verify', new Uint8Array());
      if (begun.kind === 'new') idempotency.finish(begun.ticket, { status: 200, headers: {}, text: JSON.stringify({ email }), named: {}, secret: null });
      return begun.kind;
    };
    for (const email of ['ada@acme.example', 'bob@acme.example']) {
      // An erasure makes later ones no earlier, and they reach what comes after it.
      remember(email);
      verifications.put({ id: email, keyId: 'k', startedAtMs: aheadMs(2), request: { emails: [email, 'max@acme.example'], mode: 'full', timeoutMs: null, maxAgeS: null, webhookUrl: null }, results: [], done: true, paid: true });
      journal.flush();
      suppress(store, [email]);
      expect(remember(email)).toBe('erased');
      expect(verifications.find(email)?.request.emails).toEqual([null, 'max@acme.example']);
    }
    journal.close();
    store.close();
  });
});

describe('how the erased are recognised', () => {
  it('refuses whoever has their number or id, and signals about that id, and lets in a namesake under another id', async () => {
    const store = await emptyStore();
    loadPeople(store, [{ name: 'Ada Example', company_domain: 'acme.example' }], 'crm');
    const id = String(openDirectory(store).peopleByName('ada example', { domain: 'acme.example' })[0]?.person['id']);
    loadPeople(store, [{ id, email: 'ada@acme.example', mobile: '+12125550100' }], 'crm');
    expect(suppress(store, ['ada@acme.example'], 7)).toMatchObject({ people: 1 });
    const ada = { name: 'Ada Example', company_domain: 'acme.example' };
    expect((await load(store, [{ ...ada, mobile: '+1 212 555 0100' }, { ...ada, id }, { email: 'new@home.example', mobile: '+12125550100' }])).counts.rejected).toEqual({ suppressed: 3 });
    expect((await load(store, [{ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { id } }], { kind: 'signals' })).counts.rejected).toEqual({ suppressed: 1 });
    for (const change of ['added', 'unchanged']) expect((await load(store, [ada])).counts).toMatchObject({ [change]: 1 });
    const directory = openDirectory(store);
    expect([directory.personById(id), directory.peopleByName('ada example', { domain: 'acme.example' }).length]).toEqual([null, 1]);
    store.close();
  });

  it('leaves a number to the others who have it, until the last of them is erased', async () => {
    const store = await emptyStore();
    loadPeople(store, [{ email: 'a@acme.example', mobile: '+12125550100' }, { email: 'b@acme.example', mobile: '+12125550100' }], 'crm');
    const directory = openDirectory(store);
    suppress(store, ['a@acme.example'], 7);
    expect([directory.personByNumber('+12125550100')?.row.person['email'], directory.isSuppressed({ mobiles: ['+12125550100'] })]).toEqual(['b@acme.example', false]);
    suppress(store, ['b@acme.example'], 7);
    expect(directory.isSuppressed({ mobiles: ['+12125550100'] })).toBe(true);
    store.close();
  });

  it('keeps no colleague out for the number of a switchboard, however they come with it', async () => {
    const number = '+493012345600';
    const store = await emptyStore();
    loadPeople(store, [{ email: 'anna@acme.example', name: 'Anna A', mobile: '+12125550100', phones: [{ number, type: 'work' }] }], 'crm');
    suppress(store, ['anna@acme.example'], 7);
    const people = [{ email: 'bob@acme.example', phones: [{ number, type: 'work' }] }, { email: 'carl@acme.example', mobile: number }, { email: 'dora@acme.example', phones: [{ number, type: 'mobile' }] }];
    expect((await load(store, [...people, { email: 'new@home.example', mobile: '+12125550100' }])).counts).toMatchObject({ added: 3, rejected: { suppressed: 1 } });
    store.close();
  });

  it.each(['Mobile', 'CELL', 'cellular', 'mobile phone', 'Cell Phone', 'work_mobile'])('knows a number of the type %j for a mobile one', async (type) => {
    const store = await emptyStore();
    loadPeople(store, [{ email: 'ada@acme.example', phones: [{ number: '+12125550100', type }, { number: '+12125550101', type: 'automobile' }] }], 'crm');
    suppress(store, ['ada@acme.example'], 7);
    const people = ['+12125550100', '+12125550101'].map((mobile) => ({ email: `${mobile.slice(1)}@home.example`, mobile }));
    expect((await load(store, people)).counts).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
    store.close();
  });
});
