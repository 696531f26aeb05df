import { expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import type { ImportKind } from '../../../../src/service/admin/import/column-names.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { emptyStore, load } from '../../loading.ts';

const ACME = { id: 'co_1', name: 'Acme', domain: 'acme.example', employees: 120, industry: 'Retail' };
const NOBODY = { id: null, email: null, name: null, updated_at: null, matched_on: ['domain'], verified: false };
const HEADER = [
  'Name',
  'Website',
  'Email',
  'Company',
  'result.outcome',
  'enrich.email',
  'enrich.name',
  'enrich.company.name',
  'enrich.company.employees',
  'enrich.verified',
  'company.name',
  'company.domain',
  'company.employees',
  'company.industry',
];

/** Rows of the step company and of enrich alone, as a table and as JSON lines. */
const ROWS: readonly (readonly [string, readonly (readonly string[])[] | readonly SparseRecord[], SparseRecord])[] = [
  [
    'a match by domain, with the step company',
    [HEADER, ['', 'acme.example', '', 'ACME Corp', 'matched', '', '', 'Acme', '120', 'false', 'Acme', 'acme.example', '120', 'Retail']],
    { industry: 'Retail' },
  ],
  ['a match by domain', [HEADER, ['', 'acme.example', 'n/a', 'ACME Corp', 'matched', '', '', 'Acme', '120', 'false', '', '', '', '']], {}],
  [
    'no match, with the step company',
    [HEADER, ['Max Example', '', 'max@acme.example', 'ACME Corp', 'no_match', '', '', '', '', '', 'Acme', 'acme.example', '120', 'Retail']],
    { industry: 'Retail' },
  ],
  [
    'a match by domain, with the step company',
    [
      {
        input: { Website: 'acme.example', Company: 'ACME Corp' },
        result: { outcome: 'matched' },
        enrich: { ...NOBODY, company: { name: 'Acme', domain: 'acme.example' } },
        company: ACME,
      },
    ],
    { id: 'co_1', industry: 'Retail' },
  ],
  [
    'a match by domain',
    [{ input: { Website: 'www.acme.example', Email: 'n/a' }, result: { outcome: 'matched' }, enrich: { ...NOBODY, company: ACME } }],
    { id: 'co_1', industry: 'Retail' },
  ],
  [
    'no match, with the step company',
    [
      {
        input: { Name: 'Max Example', Email: 'max@acme.example', Website: 'other.example' },
        result: { outcome: 'no_match' },
        enrich: null,
        company: ACME,
      },
    ],
    { id: 'co_1', industry: 'Retail' },
  ],
];

it.each(ROWS)('an enriched output stores a bought company without a person: %s', async (_title, rows, more) => {
  for (const kind of ['contacts', 'companies'] as const satisfies readonly ImportKind[]) {
    const store = await emptyStore();
    const first = await load(store, rows, { kind });
    expect(first).toMatchObject({
      rejected: [],
      counts: {
        read: 1,
        dropped: {},
        ...(kind === 'contacts' ? { added: 0, skipped: 1, companies: { added: 1 } } : { added: 1, skipped: 0 }),
      },
    });
    expect([...exportRecords(store, 'contacts', false)]).toEqual([]);
    expect([...exportRecords(store, 'companies', false)]).toMatchObject([
      { name: 'Acme', domain: 'acme.example', employees: 120, ...more },
    ]);
    expect((await load(store, rows, { kind })).counts).toMatchObject(
      kind === 'contacts' ? { skipped: 1, companies: { added: 0, updated: 0 } } : { unchanged: 1 },
    );
    store.close();
  }
});

it('an enriched output stores the reveal result of a row that enrich did not find', async () => {
  const store = await emptyStore();
  const row = {
    input: { Email: 'max@acme.example' },
    result: { outcome: 'no_match' },
    enrich: null,
    reveal: { email: null, mobile: '+12125550101', linkedin_url: 'https://profiles.example/in/max', company: null },
  };
  expect((await load(store, [row])).counts).toMatchObject({ added: 1, skipped: 0 });
  expect([...exportRecords(store, 'contacts', false)]).toMatchObject([{ email: 'max@acme.example', mobile: '+12125550101' }]);
  store.close();
});

it('an enriched output has no company when none was found, whatever is beside the key', async () => {
  const table = [
    ['Name', 'Website', 'LinkedIn', 'result.outcome', 'company.name', 'company.domain'],
    ['Max Example', 'acme.example', 'https://profiles.example/in/max', 'no_match', '', ''],
  ];
  const lines = [{ input: { Name: 'Max Example', Website: 'acme.example' }, result: { outcome: 'no_match' }, company: null }];
  for (const rows of [table, lines]) {
    for (const kind of ['contacts', 'companies'] as const) {
      const store = await emptyStore();
      expect((await load(store, rows, { kind })).counts).toMatchObject({ read: 1, added: 0, skipped: 1, rejected: {} });
      expect([...exportRecords(store, 'companies', false)]).toEqual([]);
      store.close();
    }
  }
});

it('a row without a person and without a bought value stores no company', async () => {
  const store = await emptyStore();
  expect(
    (
      await load(store, [
        ['Name', 'Company', 'Website'],
        ['', 'Acme', 'acme.example'],
      ])
    ).counts,
  ).toMatchObject({ rejected: { no_identity: 1 }, companies: { added: 0 } });
  store.close();
});
