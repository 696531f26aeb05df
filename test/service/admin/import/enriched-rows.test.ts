import { describe, expect, it } from 'vitest';
import { exportRecords, type ExportKind } from '../../../../src/service/admin/export/export-records.ts';

import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { emptyStore, load, type Given } from '../../loading.ts';

const all = (store: Store, kind: ExportKind, withSources = false): SparseRecord[] => [...exportRecords(store, kind, withSources)];

describe('importing an enriched output', () => {
  it('an enriched output of Millrace is imported as a table and as JSON lines, without the rows that were not found', async () => {
    const record = {
      email: 'ada@acme.example',
      name: 'Ada Example',
      title: 'CTO',
      verified: true,
      company: { name: 'Acme', domain: 'acme.example', employees: 42, stack: ['Go', 'dbt'] },
      updated_at: '2025-05-05T00:00:00Z',
    };
    const verdict = {
      email: 'ada@acme.example',
      normalized: 'ada@acme.example',
      result: 'undeliverable',
      confidence: 0,
      verified_at: '2026-02-02T00:00:00Z',
    };
    const header = [
      'Mail',
      'result.outcome',
      'enrich.email',
      'enrich.name',
      'enrich.title',
      'enrich.company.name',
      'enrich.company.employees',
      'enrich.company.stack',
      'enrich.verified',
      'verify.result',
      'verify.confidence',
    ];
    const rows: [readonly (readonly string[])[] | readonly SparseRecord[], Given][] = [
      [
        [
          header,
          ['ada@acme.example', 'matched', 'ada@acme.example', 'Ada Example', 'CTO', 'Acme', '42', 'Go;dbt', 'true', 'undeliverable', '0'],
          ['max@acme.example', 'no_match', '', '', '', '', '', '', '', '', ''],
        ],
        {},
      ],
      [
        [
          { input: { Mail: 'ADA@acme.example' }, result: { outcome: 'matched' }, enrich: record, verify: verdict },
          { input: { Mail: 'max@acme.example' }, result: { outcome: 'no_match' }, enrich: null, verify: null },
        ],
        { name: 'out.jsonl' },
      ],
    ];
    for (const [given, how] of rows) {
      const store = await emptyStore();
      const { counts } = await load(store, given, how);
      expect(counts).toMatchObject({ read: 2, added: 1, skipped: 1, rejected: {} });
      expect(all(store, 'contacts')).toMatchObject([
        {
          email: 'ada@acme.example',
          name: 'Ada Example',
          title: 'CTO',
          email_status: 'bounced',
          email_confidence: 0,
          company_domain: 'acme.example',
        },
      ]);
      expect(all(store, 'companies')).toMatchObject([{ name: 'Acme', domain: 'acme.example', employees: 42, stack: ['Go', 'dbt'] }]);
      store.close();
    }
  });

  it('values of the steps company and reveal replace those of enrich, as a table and as JSON lines', async () => {
    const header = [
      'Email',
      'result.outcome',
      'enrich.email',
      'enrich.name',
      'enrich.company.name',
      'company.name',
      'company.domain',
      'company.employees',
      'reveal.email',
      'reveal.mobile',
      'reveal.linkedin_url',
      'verify.result',
      'verify.confidence',
    ];
    const linkedin = 'https://www.linkedin.com/in/bob';
    for (const given of [
      [
        header,
        [
          'bob@acme.example',
          'matched',
          'bob@acme.example',
          'Bob Example',
          'Old Acme',
          'Acme',
          'acme.example',
          '42',
          'bob.example@acme.example',
          '+12125550101',
          linkedin,
          'undeliverable',
          '0',
        ],
      ],
      [
        {
          input: { Email: 'bob@acme.example' },
          result: { outcome: 'matched' },
          enrich: { email: 'bob@acme.example', name: 'Bob Example', company: { name: 'Old Acme', domain: 'acme.example' } },
          company: { name: 'Acme', domain: 'acme.example', employees: 42 },
          reveal: { email: 'bob.example@acme.example', mobile: '+12125550101', linkedin_url: linkedin, company: null },
          verify: { email: 'bob@acme.example', result: 'undeliverable', confidence: 0 },
        },
      ],
    ]) {
      const store = await emptyStore();
      expect((await load(store, given)).counts).toMatchObject({ added: 1, companies: { added: 1 }, rejected: {} });
      expect(all(store, 'contacts')).toMatchObject([
        {
          email: 'bob.example@acme.example',
          name: 'Bob Example',
          mobile: '+12125550101',
          linkedin_url: linkedin,
          company_domain: 'acme.example',
        },
      ]);
      // The verdict belongs to the address of the input.
      expect(all(store, 'contacts')[0]).not.toHaveProperty('email_status');
      expect(all(store, 'companies')).toMatchObject([{ name: 'Acme', domain: 'acme.example', employees: 42 }]);
      store.close();
    }
  });

  it('a row that failed at a later step keeps its bought values, and a row without any is skipped', async () => {
    const header = [
      'Mail',
      'result.outcome',
      'result.error',
      'enrich.email',
      'enrich.name',
      'company.name',
      'company.domain',
      'verify.result',
      'verify.confidence',
    ];
    const failed = (mail: string, rest: SparseRecord): SparseRecord => ({
      input: { Mail: mail },
      result: { outcome: 'failed', error: 'verify:server_error' },
      enrich: null,
      verify: null,
      company: null,
      ...rest,
    });
    for (const [given, how] of [
      [
        [
          header,
          ['ada@acme.example', 'failed', 'verify:server_error', 'ada@acme.example', 'Ada Example', '', '', '', ''],
          ['bob@other.example', 'failed', 'verify:server_error', '', '', 'Other', 'other.example', '', ''],
          ['cleo@acme.example', 'failed', 'enrich:server_error', '', '', '', '', 'undeliverable', '0'],
          ['dan@acme.example', 'failed', 'enrich:server_error', '', '', '', '', 'unknown', '10'],
          ['eve@acme.example', 'failed', 'enrich:server_error', '', '', '', '', '', ''],
        ],
        {},
      ],
      [
        [
          failed('ada@acme.example', { enrich: { email: 'ada@acme.example', name: 'Ada Example' } }),
          failed('bob@other.example', { company: { name: 'Other', domain: 'other.example' } }),
          failed('cleo@acme.example', { verify: { email: 'cleo@acme.example', result: 'undeliverable', confidence: 0 } }),
          failed('dan@acme.example', { verify: { email: 'dan@acme.example', result: 'unknown', confidence: 10 } }),
          failed('eve@acme.example', {}),
        ],
        { name: 'out.jsonl' },
      ],
    ] as const) {
      const store = await emptyStore();
      expect((await load(store, given, how)).counts).toMatchObject({ read: 5, added: 3, skipped: 2, rejected: {} });
      expect(all(store, 'contacts')).toMatchObject([
        { email: 'ada@acme.example', name: 'Ada Example' },
        { email: 'bob@other.example', company_domain: 'other.example' },
        { email: 'cleo@acme.example', email_status: 'bounced' },
      ]);
      expect(all(store, 'companies')).toMatchObject([{ name: 'Other', domain: 'other.example' }]);
      store.close();
    }
  });
});
