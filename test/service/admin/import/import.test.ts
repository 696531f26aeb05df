import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords, tableCells, tableColumns, type ExportKind } from '../../../../src/service/admin/export/export-records.ts';
import type { ImportKind } from '../../../../src/service/admin/import/column-names.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { casesOf } from '../../../support/sample.ts';
import { emptyStore, load } from '../../loading.ts';

const all = (store: Store, kind: ExportKind, withSources = false): SparseRecord[] => [...exportRecords(store, kind, withSources)];

describe('importing', () => {
  it('a CRM table is imported with its own names for columns, employers, phones and places', async () => {
    const store = await emptyStore();
    const { counts, rejected } = await load(store, [
      [
        'First Name',
        'Last Name',
        'Work Email',
        'Company',
        'Website',
        'Job Title',
        'Phone',
        'Country',
        '# Employees',
        'Annual Revenue',
        'Shoe Size',
      ],
      [
        'Ada',
        'Example',
        ' ADA@Acme.example ',
        'Acme',
        'https://www.acme.example/team',
        'CTO',
        '+1 (212) 555-0100',
        'United Kingdom',
        '1,200',
        '$12M',
        '38',
      ],
      ['Bob', 'Example', 'bob@gmail.com', 'Bobs', '', 'Owner', '555', 'uk', '11-50', '', ''],
      ['No', 'Body', 'ask them', '', '', '', '', '', '', '', ''],
    ]);
    expect(rejected).toEqual([{ file: 'crm.csv', line: 4, code: 'bad_email', detail: expect.any(String) as string }]);
    expect(counts).toMatchObject({ read: 3, added: 2, rejected: { bad_email: 1 }, dropped: { mobile: 1 }, companies: { added: 1 } });
    expect(all(store, 'contacts')).toMatchObject([
      {
        email: 'ada@acme.example',
        name: 'Ada Example',
        title: 'CTO',
        mobile: '+12125550100',
        location: { country: 'United Kingdom', country_code: 'GB' },
        company_domain: 'acme.example',
        updated_at: '2026-01-01T00:00:00Z',
      },
      { email: 'bob@gmail.com', company_name: 'Bobs', location: { country_code: 'GB' } },
    ]);
    expect(all(store, 'companies')).toMatchObject([
      { name: 'Acme', domain: 'acme.example', employees: 1_200, revenue: '$12M', revenue_usd: 12_000_000 },
    ]);
    store.close();
  });

  it('ambiguous or meaningless numbers are dropped', async () => {
    for (const [employees, stored] of [
      ['1,200', 1_200],
      ['1.1k', 1_100],
      ['12.0', 12],
      ['1.200', undefined],
      ['2,5', undefined],
      ['-5', undefined],
    ] as const) {
      const store = await emptyStore();
      const { counts } = await load(
        store,
        [
          ['Domain', '# Employees', 'Industry'],
          ['acme.example', employees, 'Steel'],
        ],
        { kind: 'companies' },
      );
      expect({ employees, stored: all(store, 'companies')[0]?.['employees'], dropped: counts.dropped }).toEqual({
        employees,
        stored,
        dropped: stored === undefined ? { employees: 1 } : {},
      });
      store.close();
    }
    const store = await emptyStore();
    await load(
      store,
      [
        ['Domain', 'Annual Revenue'],
        ['acme.example', '$2,5M'],
      ],
      { kind: 'companies' },
    );
    expect(all(store, 'companies')[0]).not.toHaveProperty('revenue_usd');
    store.close();
  });

  it('columns that the user chose are used, and no others for their fields', async () => {
    const store = await emptyStore();
    await load(
      store,
      [
        ['Email', 'Primary contact', 'Was'],
        ['info@acme.example', 'ada@acme.example', 'CTO'],
      ],
      { columns: { email: 'Primary contact', title: 'Was' } },
    );
    expect(all(store, 'contacts')).toMatchObject([{ email: 'ada@acme.example', title: 'CTO' }]);
    store.close();
  });

  it('newer values win field by field, and each field has its source', async () => {
    const store = await emptyStore();
    await load(
      store,
      [
        ['email', 'title', 'mobile'],
        ['ada@acme.example', 'CTO', ''],
      ],
      { name: 'new.csv', asOf: '2026-03-01' },
    );
    const { counts } = await load(
      store,
      [
        ['email', 'title', 'mobile'],
        ['ada@acme.example', 'Engineer', '+12125550100'],
      ],
      { name: 'old.csv', asOf: '2020-01-01' },
    );
    expect(counts).toMatchObject({ updated: 1, added: 0 });
    expect(all(store, 'contacts', true)).toMatchObject([
      {
        title: 'CTO',
        mobile: '+12125550100',
        sources: { title: { source: 'new.csv', at: '2026-03-01T00:00:00Z' }, mobile: { source: 'old.csv', at: '2020-01-01T00:00:00Z' } },
      },
    ]);
    store.close();
  });

  it('an import ends after a rollback, and its rows can be imported again', async () => {
    const store = await emptyStore();
    const rows = Array.from({ length: 7_000 }, (_, index) => ({
      email: `ada.${index}@works-${index % 200}.example`,
      name: `Ada ${index}`,
      title: `Title ${index % 50}`,
      company: { domain: `works-${index % 200}.example`, name: `Works ${index % 200}` },
    }));
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
    for (const side of ['person', 'company'])
      expect(count(`${side}_postings WHERE at / 65536 NOT IN (SELECT id FROM ${side}_terms)`)).toBe(0);
    store.close();
  });

  it('an erased person does not return, and a time in the future counts as now', async () => {
    const store = await emptyStore();
    suppress(store, ['ada@acme.example'], 0);
    const { counts } = await load(store, [
      ['email', 'updated_at'],
      ['Ada@acme.example', ''],
      ['bob@acme.example', '2099-01-01'],
    ]);
    expect(counts).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
    expect(all(store, 'contacts')).toMatchObject([{ email: 'bob@acme.example', updated_at: '2026-06-01T00:00:00Z' }]);
    store.close();
  });

  it('an export that is imported into another store is exported the same again', async () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((value) => value.trim() === value && !/[;|]/.test(value));
    const person = fc.record(
      {
        id: fc.uuid(),
        email: fc.integer().map((n) => `p${Math.abs(n)}@acme.example`),
        name: text,
        title: text,
        skills: fc.array(text, { minLength: 1, maxLength: 3 }),
        location: fc.record({ city: text, country_code: fc.constantFrom('DE', 'US') }),
        updated_at: fc.constantFrom('2025-01-01T00:00:00Z', '2025-06-01T12:00:00Z'),
      },
      { requiredKeys: ['id', 'email', 'updated_at'] },
    );
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

  it('any row is accepted or rejected, and none crashes the import', async () => {
    const store = await emptyStore();
    const name = fc.constantFrom(
      'email',
      'company',
      'location',
      'emails',
      'updated_at',
      'mobile',
      'domain',
      'type',
      'person',
      'input',
      'result',
      'enrich',
      'verify',
      '__proto__',
      'hq',
      'employees',
      'event',
      'at',
      'reason',
      'code',
      'verified',
      'accepts_all',
      'employment_history',
    );
    // An object without a prototype throws when it is converted to a text.
    const value = fc.oneof(
      { arbitrary: fc.jsonValue(), weight: 3 },
      fc.constant({ toString: 1 }),
      fc.constant([{ title: 'x', is_current: { toString: 1, valueOf: 1 } }]),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom<ImportKind>('contacts', 'companies', 'signals', 'deliveries'),
        fc.dictionary(name, value, { maxKeys: 8 }),
        async (kind, row) => {
          const { counts } = await load(store, [row], { kind });
          expect(counts.added + counts.updated + counts.unchanged + counts.skipped + counts.rejectedRows).toBe(1);
        },
      ),
      { numRuns: casesOf(120, 500) },
    );
    store.close();
  });
});
