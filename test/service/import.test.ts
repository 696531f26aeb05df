import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exportRecords, tableCells, tableColumns, type ExportKind } from '../../src/service/export/export-records.ts';
import type { ImportKind } from '../../src/service/import/names.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { suppress } from '../../src/service/store/suppress.ts';
import type { Store } from '../../src/service/store/store.ts';
import { casesOf } from '../support/sample.ts';
import { emptyStore, load, type Given } from './loading.ts';

const all = (store: Store, kind: ExportKind, withSources = false): SparseRecord[] => [...exportRecords(store, kind, withSources)];

describe('importing', () => {
  it('takes a table of a CRM: names of columns, employers, phones, places', async () => {
    const store = await emptyStore();
    const { counts, rejected } = await load(store, [
      ['First Name', 'Last Name', 'Work Email', 'Company', 'Website', 'Job Title', 'Phone', 'Country', '# Employees', 'Annual Revenue', 'Shoe Size'],
      ['Ada', 'Example', ' ADA@Acme.example ', 'Acme', 'https://www.acme.example/team', 'CTO', '+1 (212) 555-0100', 'United Kingdom', '1,200', '$12M', '38'],
      ['Bob', 'Example', 'bob@gmail.com', 'Bobs', '', 'Owner', '555', 'uk', '11-50', '', ''],
      ['No', 'Body', 'n/a', '', '', '', '', '', '', '', ''],
    ]);
    expect(rejected).toEqual([{ file: 'crm.csv', line: 4, code: 'bad_email', detail: expect.any(String) as string }]);
    expect(counts).toMatchObject({ read: 3, added: 2, rejected: { bad_email: 1 }, dropped: { mobile: 1 }, companies: { added: 1 } });
    expect(all(store, 'contacts')).toMatchObject([
      { email: 'ada@acme.example', name: 'Ada Example', title: 'CTO', mobile: '+12125550100', location: { country: 'United Kingdom', country_code: 'GB' }, company_domain: 'acme.example', updated_at: '2026-01-01T00:00:00Z' },
      { email: 'bob@gmail.com', company_name: 'Bobs', location: { country_code: 'GB' } },
    ]);
    expect(all(store, 'companies')).toMatchObject([{ name: 'Acme', domain: 'acme.example', employees: 1_200, revenue: '$12M', revenue_usd: 12_000_000 }]);
    store.close();
  });

  it('keeps apart two of one company whose names differ by a mark that is a vowel or makes another letter', async () => {
    const store = await emptyStore();
    await load(store, ['कमल शर्मा', 'कमला शर्मा', 'ハンダ', 'パンダ', 'Zoë Ruiz', 'Zoe Ruiz'].map((name) => ({ name, company_domain: 'acme.example' })), { name: 'people.jsonl' });
    expect(all(store, 'contacts').map(({ name }) => name)).toEqual(['कमल शर्मा', 'कमला शर्मा', 'ハンダ', 'パンダ', 'Zoe Ruiz']);
    store.close();
  });

  it('takes a verdict of an enriched output as of when it was learnt, whatever the order of loading', async () => {
    const output = (learnt: string): SparseRecord => ({
      input: { Mail: 'ada@acme.example' }, result: { outcome: 'matched' }, enrich: { email: 'ada@acme.example', title: 'CTO', email_status: 'risky', email_verified_at: '2024-01-01T00:00:00Z', updated_at: '2026-02-01T00:00:00Z' },
      verify: { email: 'ada@acme.example', result: 'undeliverable', confidence: 0, verified_at: learnt },
    });
    const told: SparseRecord = { email: 'ada@acme.example', title: 'CEO', email_status: 'verified', email_confidence: 90, email_verified_at: '2026-03-01T00:00:00Z', updated_at: '2026-03-01T00:00:00Z' };
    for (const [learnt, status, confidence] of [['2026-04-01T00:00:00.5Z', 'bounced', 0], ['2025-12-01T00:00:00Z', 'verified', 90]] as const) {
      const kept: SparseRecord[] = [];
      for (const order of [[output(learnt), told], [told, output(learnt)], [output(learnt), told, output(learnt)]]) {
        const store = await emptyStore();
        for (const row of order) await load(store, [row], { name: 'out.jsonl' });
        // The id is of who came first.
        const [{ id: _id, sources, ...ada } = {}] = all(store, 'contacts', true);
        kept.push({ ...ada, sources: { ...(sources as object), id: null } });
        expect((await load(store, [output(learnt)], { name: 'out.jsonl' })).counts).toMatchObject({ unchanged: 1 });
        store.close();
      }
      expect(kept[0]).toMatchObject({ title: 'CEO', email_status: status, email_confidence: confidence });
      expect(kept).toEqual([kept[0], kept[0], kept[0]]);
    }
    const store = await emptyStore();
    // Of a time that is not yet: of now.
    await load(store, [output('2031-01-01T00:00:00Z')], { nowMs: Date.parse('2026-06-01') });
    expect(all(store, 'contacts', true)).toMatchObject([{ updated_at: '2026-06-01T00:00:00Z', sources: { email_status: { at: '2026-06-01T00:00:00Z' }, title: { at: '2026-02-01T00:00:00Z' } } }]);
    store.close();
  });

  it('takes an enriched output of Millrace, as a table and as JSON lines, and leaves out what was not found', async () => {
    const record = { email: 'ada@acme.example', name: 'Ada Example', title: 'CTO', verified: true, company: { name: 'Acme', domain: 'acme.example', employees: 42, stack: ['Go', 'dbt'] }, updated_at: '2025-05-05T00:00:00Z' };
    const verdict = { email: 'ada@acme.example', normalized: 'ada@acme.example', result: 'undeliverable', confidence: 0, verified_at: '2026-02-02T00:00:00Z' };
    const header = ['Mail', 'result.outcome', 'enrich.email', 'enrich.name', 'enrich.title', 'enrich.company.name', 'enrich.company.employees', 'enrich.company.stack', 'enrich.verified', 'verify.result', 'verify.confidence'];
    const rows: [readonly (readonly string[])[] | readonly SparseRecord[], Given][] = [
      [[header, ['ada@acme.example', 'matched', 'ada@acme.example', 'Ada Example', 'CTO', 'Acme', '42', 'Go;dbt', 'true', 'undeliverable', '0'], ['max@acme.example', 'no_match', '', '', '', '', '', '', '', '', '']], {}],
      [[{ input: { Mail: 'ADA@acme.example' }, result: { outcome: 'matched' }, enrich: record, verify: verdict }, { input: { Mail: 'max@acme.example' }, result: { outcome: 'no_match' }, enrich: null, verify: null }], { name: 'out.jsonl' }],
    ];
    for (const [given, how] of rows) {
      const store = await emptyStore();
      const { counts } = await load(store, given, how);
      expect(counts).toMatchObject({ read: 2, added: 1, skipped: 1, rejected: {} });
      expect(all(store, 'contacts')).toMatchObject([{ email: 'ada@acme.example', name: 'Ada Example', title: 'CTO', email_status: 'bounced', email_confidence: 0, company_domain: 'acme.example' }]);
      expect(all(store, 'companies')).toMatchObject([{ name: 'Acme', domain: 'acme.example', employees: 42, stack: ['Go', 'dbt'] }]);
      store.close();
    }
  });

  it('takes what the steps company and reveal brought before what came with enrich, as a table and as JSON lines', async () => {
    const header = ['Email', 'result.outcome', 'enrich.email', 'enrich.name', 'enrich.company.name', 'company.name', 'company.domain', 'company.employees', 'reveal.email', 'reveal.mobile', 'reveal.linkedin_url', 'verify.result', 'verify.confidence'];
    const linkedin = 'https://www.linkedin.com/in/bob';
    for (const given of [
      [header, ['bob@acme.example', 'matched', 'bob@acme.example', 'Bob Example', 'Old Acme', 'Acme', 'acme.example', '42', 'bob.example@acme.example', '+12125550101', linkedin, 'undeliverable', '0']],
      [{ input: { Email: 'bob@acme.example' }, result: { outcome: 'matched' }, enrich: { email: 'bob@acme.example', name: 'Bob Example', company: { name: 'Old Acme', domain: 'acme.example' } }, company: { name: 'Acme', domain: 'acme.example', employees: 42 }, reveal: { email: 'bob.example@acme.example', mobile: '+12125550101', linkedin_url: linkedin, company: null }, verify: { email: 'bob@acme.example', result: 'undeliverable', confidence: 0 } }],
    ]) {
      const store = await emptyStore();
      expect((await load(store, given)).counts).toMatchObject({ added: 1, companies: { added: 1 }, rejected: {} });
      expect(all(store, 'contacts')).toMatchObject([{ email: 'bob.example@acme.example', name: 'Bob Example', mobile: '+12125550101', linkedin_url: linkedin, company_domain: 'acme.example' }]);
      // The verdict is of the address that was asked with.
      expect(all(store, 'contacts')[0]).not.toHaveProperty('email_status');
      expect(all(store, 'companies')).toMatchObject([{ name: 'Acme', domain: 'acme.example', employees: 42 }]);
      store.close();
    }
  });

  it('keeps what was bought for a row that failed at a later step, as a table and as JSON lines, and leaves out one for which nothing was', async () => {
    const header = ['Mail', 'result.outcome', 'result.error', 'enrich.email', 'enrich.name', 'company.name', 'company.domain', 'verify.result', 'verify.confidence'];
    const failed = (mail: string, rest: SparseRecord): SparseRecord => ({ input: { Mail: mail }, result: { outcome: 'failed', error: 'verify:server_error' }, enrich: null, verify: null, company: null, ...rest });
    for (const [given, how] of [
      [[header, ['ada@acme.example', 'failed', 'verify:server_error', 'ada@acme.example', 'Ada Example', '', '', '', ''], ['bob@other.example', 'failed', 'verify:server_error', '', '', 'Other', 'other.example', '', ''],
        ['cleo@acme.example', 'failed', 'enrich:server_error', '', '', '', '', 'undeliverable', '0'], ['dan@acme.example', 'failed', 'enrich:server_error', '', '', '', '', 'unknown', '10'], ['eve@acme.example', 'failed', 'enrich:server_error', '', '', '', '', '', '']], {}],
      [[failed('ada@acme.example', { enrich: { email: 'ada@acme.example', name: 'Ada Example' } }), failed('bob@other.example', { company: { name: 'Other', domain: 'other.example' } }),
        failed('cleo@acme.example', { verify: { email: 'cleo@acme.example', result: 'undeliverable', confidence: 0 } }), failed('dan@acme.example', { verify: { email: 'dan@acme.example', result: 'unknown', confidence: 10 } }), failed('eve@acme.example', {})], { name: 'out.jsonl' }],
    ] as const) {
      const store = await emptyStore();
      expect((await load(store, given, how)).counts).toMatchObject({ read: 5, added: 3, skipped: 2, rejected: {} });
      expect(all(store, 'contacts')).toMatchObject([{ email: 'ada@acme.example', name: 'Ada Example' }, { email: 'bob@other.example', company_domain: 'other.example' }, { email: 'cleo@acme.example', email_status: 'bounced' }]);
      expect(all(store, 'companies')).toMatchObject([{ name: 'Other', domain: 'other.example' }]);
      store.close();
    }
  });

  it('takes a verdict for the address that it is of, and no other', async () => {
    const store = await emptyStore();
    await load(store, [{ input: { email: 'old@acme.example' }, result: { outcome: 'matched' }, enrich: { email: 'new@acme.example', name: 'Ada' }, verify: { email: 'old@acme.example', result: 'undeliverable', confidence: 0 } }]);
    expect(all(store, 'contacts')[0]).not.toHaveProperty('email_status');
    store.close();
  });

  it('takes a verdict that says nothing for nothing, and none for an address that is none', async () => {
    const verdict = (email: string, result: string) => ({ verify: { email, result, confidence: 5, verified_at: '2026-02-02T00:00:00Z' }, result: { outcome: 'matched' } });
    for (const [row, status, confidence] of [
      [{ ...verdict('ada@acme.example', 'unknown'), input: {}, enrich: { email: 'ada@acme.example', email_status: 'verified', email_confidence: 97 } }, 'verified', 97],
      [{ ...verdict('ada@acme.example', 'risky'), input: {}, enrich: { email: 'ada@acme.example', email_status: 'verified', email_confidence: 97 } }, 'risky', 5],
      [{ ...verdict('http://acme.example', 'undeliverable'), input: { Email: 'http://acme.example', Name: 'Ada Example' }, enrich: { email: null, company: { domain: 'acme.example' } } }, undefined, undefined],
    ] as const) {
      const store = await emptyStore();
      await load(store, [row], { name: 'out.jsonl' });
      expect(all(store, 'contacts').map(({ email_status: found, email_confidence: points }) => [found, points])).toEqual([[status, confidence]]);
      store.close();
    }
  });

  it('leaves out numbers that may mean two things, or nothing', async () => {
    for (const [employees, kept] of [['1,200', 1_200], ['1.1k', 1_100], ['12.0', 12], ['1.200', undefined], ['2,5', undefined], ['-5', undefined]] as const) {
      const store = await emptyStore();
      const { counts } = await load(store, [['Domain', '# Employees', 'Industry'], ['acme.example', employees, 'Steel']], { kind: 'companies' });
      expect({ employees, kept: all(store, 'companies')[0]?.['employees'], dropped: counts.dropped }).toEqual({ employees, kept, dropped: kept === undefined ? { employees: 1 } : {} });
      store.close();
    }
    const store = await emptyStore();
    await load(store, [['Domain', 'Annual Revenue'], ['acme.example', '$2,5M']], { kind: 'companies' });
    expect(all(store, 'companies')[0]).not.toHaveProperty('revenue_usd');
    store.close();
  });

  it('takes the columns that are named by hand, and no others for their fields', async () => {
    const store = await emptyStore();
    await load(store, [['Email', 'Primary contact', 'Was'], ['info@acme.example', 'ada@acme.example', 'CTO']], { columns: { email: 'Primary contact', title: 'Was' } });
    expect(all(store, 'contacts')).toMatchObject([{ email: 'ada@acme.example', title: 'CTO' }]);
    store.close();
  });

  it('merges by recency and says of each field where it is from', async () => {
    const store = await emptyStore();
    await load(store, [['email', 'title', 'mobile'], ['ada@acme.example', 'CTO', '']], { name: 'new.csv', asOf: '2026-03-01' });
    const { counts } = await load(store, [['email', 'title', 'mobile'], ['ada@acme.example', 'Engineer', '+12125550100']], { name: 'old.csv', asOf: '2020-01-01' });
    expect(counts).toMatchObject({ updated: 1, added: 0 });
    expect(all(store, 'contacts', true)).toMatchObject([{ title: 'CTO', mobile: '+12125550100', sources: { title: { source: 'new.csv', at: '2026-03-01T00:00:00Z' }, mobile: { source: 'old.csv', at: '2020-01-01T00:00:00Z' } } }]);
    store.close();
  });

  it('knows nobody by half a name, and keeps a whole one', async () => {
    const store = await emptyStore();
    const header = ['First Name', 'Last Name', 'Email', 'Domain'];
    const { rejected } = await load(store, [header, ['', 'Ruiz', '', 'acme.example'], ['Ana', '', '', 'acme.example'], ['Ana', 'Ruiz', 'ana@acme.example', 'acme.example']]);
    expect(rejected.map(({ line, code }) => [line, code])).toEqual([[2, 'no_identity'], [3, 'no_identity']]);
    await load(store, [header, ['Ana', '', 'ana@acme.example', '']], { asOf: '2026-02-01' });
    const { counts } = await load(store, [header, ['Ana', 'Ruiz', '', 'acme.example']], { asOf: '2026-03-01' });
    expect(counts).toMatchObject({ added: 0 });
    expect(all(store, 'contacts', true)).toMatchObject([{ name: 'Ana Ruiz', first_name: 'Ana', last_name: 'Ruiz' }]);
    store.close();
  });

  it('takes a name that several at a company have for one more of them, and for no other when it comes again', async () => {
    const store = await emptyStore();
    await load(store, [['email', 'name', 'domain'], ['ada.a@acme.example', 'Ada Example', 'acme.example'], ['ada.b@acme.example', 'Ada Example', 'acme.example']]);
    for (let again = 0; again < 4; again++) await load(store, [['name', 'domain', 'title'], ['Ada Example', 'acme.example', `CTO ${again}`]]);
    expect(all(store, 'contacts').map(({ email, title }) => [email, title])).toEqual([['ada.a@acme.example', undefined], ['ada.b@acme.example', undefined], [undefined, 'CTO 3']]);
    store.close();
  });

  it('keeps the same whether what new records need was made ready ahead or not', async () => {
    const [ahead, late] = [await emptyStore(), await emptyStore()];
    const people = Array.from({ length: 40 }, (_, index) => ({ email: `ada.${index % 30}@works-${index % 7}.example`, name: `Ada ${index % 9} Example`, title: index % 2 === 0 ? 'CTO' : 'Engineer', skills: ['Go', `S${index % 5}`], company: { name: `Works ${index % 7}`, domain: `works-${index % 7}.example`, employees: index } }));
    for (const [store, expectsNews] of [[ahead, true], [late, false]] as const) await load(store, people, { expectsNews });
    // Terms are numbered as they are met, and so not alike.
    for (const sql of [
      'SELECT id, email, name_key, company_domain, rank, doc, observed_at, field_sources FROM people ORDER BY seq',
      'SELECT id, domain, employees, doc, field_sources FROM companies ORDER BY seq',
      'SELECT term, bits FROM person_terms JOIN person_postings ON at / 65536 = id ORDER BY term',
      'SELECT term, bits FROM company_terms JOIN company_postings ON at / 65536 = id ORDER BY term',
      'SELECT * FROM employers', 'SELECT * FROM domains ORDER BY id', 'SELECT * FROM company_sizes', 'SELECT * FROM person_name_heads', 'SELECT * FROM other_numbers',
    ]) expect(late.prepare(sql).all()).toEqual(ahead.prepare(sql).all());
    ahead.close();
    late.close();
  });

  it('keeps the same of who comes again, as they were or not, in one file or in a file each', async () => {
    // One change among several who come as they were: then it is what comes next that may be taken for the same.
    const rarely = (value: string, other: string): fc.Arbitrary<string> => fc.constantFrom(value, value, value, value, other);
    const person = fc.record({ email: rarely('ada@acme.example', 'bob@acme.example'), title: rarely('CTO', 'CEO'), company_domain: rarely('acme.example', 'works.example'), updated_at: rarely('2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z') });
    await fc.assert(
      fc.asyncProperty(fc.array(person, { minLength: 8, maxLength: 16 }), async (people) => {
        const [together, apart] = [await emptyStore(), await emptyStore()];
        const { counts } = await load(together, people);
        const alone: (typeof counts)[] = [];
        for (const one of people) alone.push((await load(apart, [one])).counts);
        for (const change of ['added', 'updated', 'unchanged'] as const) expect(counts[change]).toBe(alone.reduce((sum, one) => sum + one[change], 0));
        expect(all(together, 'contacts', true)).toEqual(all(apart, 'contacts', true));
        together.close();
        apart.close();
      }),
      { numRuns: casesOf(5, 15) },
    );
  });

  it('knows again who has an id that is too long to be kept', async () => {
    const store = await emptyStore();
    const person = { id: 'i'.repeat(200), name: 'Ada Example' };
    const added: number[] = [];
    for (let times = 0; times < 3; times++) added.push((await load(store, [person])).counts.added);
    expect(added).toEqual([1, 0, 0]);
    store.close();
  });

  it('ends with a transaction that was undone, and leaves what can be imported again', async () => {
    const store = await emptyStore();
    const rows = Array.from({ length: 7_000 }, (_, index) => ({ email: `ada.${index}@works-${index % 200}.example`, name: `Ada ${index}`, title: `Title ${index % 50}`, company: { domain: `works-${index % 200}.example`, name: `Works ${index % 200}` } }));
    const pages = Number(store.prepare('PRAGMA page_count').get()?.['page_count']);
    store.exec(`PRAGMA max_page_count = ${pages + 20}`);
    const roomAgain = setTimeout(() => store.exec('PRAGMA max_page_count = 1000000'));
    await expect(load(store, rows)).rejects.toThrow('full');
    clearTimeout(roomAgain);
    store.exec('PRAGMA max_page_count = 1000000');
    await load(store, rows);
    const count = (sql: string): unknown => store.prepare(`SELECT count(*) AS n FROM ${sql}`).get()?.['n'];
    expect(count('people')).toBe(7_000);
    expect(count('domains')).toBe(200);
    for (const side of ['person', 'company']) expect(count(`${side}_postings WHERE at / 65536 NOT IN (SELECT id FROM ${side}_terms)`)).toBe(0);
    store.close();
  });

  it('does not bring back who asked to be removed, nor what is from the future', async () => {
    const store = await emptyStore();
    suppress(store, ['ada@acme.example'], 0);
    const { counts } = await load(store, [['email', 'updated_at'], ['Ada@acme.example', ''], ['bob@acme.example', '2099-01-01']]);
    expect(counts).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
    expect(all(store, 'contacts')).toMatchObject([{ email: 'bob@acme.example', updated_at: '2026-06-01T00:00:00Z' }]);
    store.close();
  });

  it('gives back what it took: an export that is imported elsewhere is exported alike', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((value) => value.trim() === value && !/[;|]/.test(value));
    const person = fc.record({ id: fc.uuid(), email: fc.integer().map((n) => `p${Math.abs(n)}@acme.example`), name: text, title: text, skills: fc.array(text, { minLength: 1, maxLength: 3 }), location: fc.record({ city: text, country_code: fc.constantFrom('DE', 'US') }), updated_at: fc.constantFrom('2025-01-01T00:00:00Z', '2025-06-01T12:00:00Z') }, { requiredKeys: ['id', 'email', 'updated_at'] });
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(person, { selector: ({ email }) => email, maxLength: 5 }), async (people) => {
        const [first, second, third] = [await emptyStore(), await emptyStore(), await emptyStore()];
        await load(first, people);
        await load(second, all(first, 'contacts'));
        expect(all(second, 'contacts')).toEqual(all(first, 'contacts'));
        const columns = tableColumns('contacts');
        await load(third, [columns, ...all(first, 'contacts').map((record) => tableCells(record, columns))]);
        expect(all(third, 'contacts')).toEqual(all(first, 'contacts'));
        for (const store of [first, second, third]) store.close();
      }),
      { numRuns: casesOf(5, 15) },
    );
  });

  it('knows a signal again, wherever a row has its type and its company', async () => {
    const store = await emptyStore();
    const signal = { id: 's1', type: 'funding', domain: 'acme.example', occurred_at: '2026-01-02', detected_at: '2026-01-03', data: { amount: 1 } };
    const { type, domain, ...others } = signal;
    expect((await load(store, [signal], { kind: 'signals' })).counts.added).toBe(1);
    for (const again of [signal, { ...others, company: { domain }, type }]) expect((await load(store, [again], { kind: 'signals' })).counts.unchanged).toBe(1);
    expect(Object.keys(JSON.parse(String(store.prepare('SELECT doc FROM signals').get()?.['doc'])) as object).slice(-2)).toEqual(['type', 'company']);
    store.close();
  });

  it('takes anything for a row without falling over', async () => {
    const store = await emptyStore();
    const name = fc.constantFrom('email', 'company', 'location', 'emails', 'updated_at', 'mobile', 'domain', 'type', 'person', 'input', 'result', 'enrich', 'verify', '__proto__', 'hq', 'employees', 'event', 'at', 'reason', 'code', 'verified', 'accepts_all', 'employment_history');
    // What has no text of its own makes whoever asks for it throw.
    const value = fc.oneof({ arbitrary: fc.jsonValue(), weight: 3 }, fc.constant({ toString: 1 }), fc.constant([{ title: 'x', is_current: { toString: 1, valueOf: 1 } }]));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom<ImportKind>('contacts', 'companies', 'signals', 'deliveries'), fc.dictionary(name, value, { maxKeys: 8 }), async (kind, row) => {
        const { counts } = await load(store, [row], { kind });
        expect(counts.added + counts.updated + counts.unchanged + counts.skipped + counts.rejectedRows).toBe(1);
      }),
      { numRuns: casesOf(120, 500) },
    );
    store.close();
  });
});
