import { describe, expect, it } from 'vitest';
import { exportRecords, type ExportKind } from '../../../../src/service/admin/export/export-records.ts';

import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { emptyStore, load } from '../../loading.ts';

const all = (store: Store, kind: ExportKind, withSources = false): SparseRecord[] => [...exportRecords(store, kind, withSources)];

describe('importing verdicts', () => {
  it('a verdict of an enriched output has the time of its verification, in any order of loading', async () => {
    const output = (verdictAt: string): SparseRecord => ({
      input: { Mail: 'ada@acme.example' },
      result: { outcome: 'matched' },
      enrich: {
        email: 'ada@acme.example',
        title: 'CTO',
        email_status: 'risky',
        email_verified_at: '2024-01-01T00:00:00Z',
        updated_at: '2026-02-01T00:00:00Z',
      },
      verify: { email: 'ada@acme.example', result: 'undeliverable', confidence: 0, verified_at: verdictAt },
    });
    const report: SparseRecord = {
      email: 'ada@acme.example',
      title: 'CEO',
      email_status: 'verified',
      email_confidence: 90,
      email_verified_at: '2026-03-01T00:00:00Z',
      updated_at: '2026-03-01T00:00:00Z',
    };
    for (const [verdictAt, status, confidence] of [
      ['2026-04-01T00:00:00.5Z', 'bounced', 0],
      ['2025-12-01T00:00:00Z', 'verified', 90],
    ] as const) {
      const results: SparseRecord[] = [];
      for (const order of [
        [output(verdictAt), report],
        [report, output(verdictAt)],
        [output(verdictAt), report, output(verdictAt)],
      ]) {
        const store = await emptyStore();
        for (const row of order) await load(store, [row], { name: 'out.jsonl' });
        // The id is that of the first row.
        const [{ id: _id, sources, ...ada } = {}] = all(store, 'contacts', true);
        results.push({ ...ada, sources: { ...(sources as object), id: null } });
        expect((await load(store, [output(verdictAt)], { name: 'out.jsonl' })).counts).toMatchObject({ unchanged: 1 });
        store.close();
      }
      expect(results[0]).toMatchObject({ title: 'CEO', email_status: status, email_confidence: confidence });
      expect(results).toEqual([results[0], results[0], results[0]]);
    }
    const store = await emptyStore();
    // A time in the future counts as now.
    await load(store, [output('2031-01-01T00:00:00Z')], { nowMs: Date.parse('2026-06-01') });
    expect(all(store, 'contacts', true)).toMatchObject([
      {
        updated_at: '2026-06-01T00:00:00Z',
        sources: { email_status: { at: '2026-06-01T00:00:00Z' }, title: { at: '2026-02-01T00:00:00Z' } },
      },
    ]);
    store.close();
  });

  it('a verdict is stored only for the address that it names', async () => {
    const store = await emptyStore();
    await load(store, [
      {
        input: { email: 'old@acme.example' },
        result: { outcome: 'matched' },
        enrich: { email: 'new@acme.example', name: 'Ada' },
        verify: { email: 'old@acme.example', result: 'undeliverable', confidence: 0 },
      },
    ]);
    expect(all(store, 'contacts')[0]).not.toHaveProperty('email_status');
    store.close();
  });

  it('an empty verdict is ignored, and so is one for an invalid address', async () => {
    const verdict = (email: string, result: string) => ({
      verify: { email, result, confidence: 5, verified_at: '2026-02-02T00:00:00Z' },
      result: { outcome: 'matched' },
    });
    for (const [row, status, confidence] of [
      [
        {
          ...verdict('ada@acme.example', 'unknown'),
          input: {},
          enrich: { email: 'ada@acme.example', email_status: 'verified', email_confidence: 97 },
        },
        'verified',
        97,
      ],
      [
        {
          ...verdict('ada@acme.example', 'risky'),
          input: {},
          enrich: { email: 'ada@acme.example', email_status: 'verified', email_confidence: 97 },
        },
        'risky',
        5,
      ],
      [
        {
          ...verdict('http://acme.example', 'undeliverable'),
          input: { Email: 'http://acme.example', Name: 'Ada Example' },
          enrich: { email: null, company: { domain: 'acme.example' } },
        },
        undefined,
        undefined,
      ],
    ] as const) {
      const store = await emptyStore();
      await load(store, [row], { name: 'out.jsonl' });
      expect(all(store, 'contacts').map(({ email_status: found, email_confidence: points }) => [found, points])).toEqual([
        [status, confidence],
      ]);
      store.close();
    }
  });
});
