import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords, type ExportKind } from '../../../../src/service/admin/export/export-records.ts';

import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { casesOf } from '../../../support/sample.ts';
import { emptyStore, load } from '../../loading.ts';

const all = (store: Store, kind: ExportKind, withSources = false): SparseRecord[] => [...exportRecords(store, kind, withSources)];

describe('importing rows of known records', () => {
  it('two people of one company stay apart when their names differ by a mark that is a vowel or makes another letter', async () => {
    const store = await emptyStore();
    await load(
      store,
      ['कमल शर्मा', 'कमला शर्मा', 'ハンダ', 'パンダ', 'Zoë Ruiz', 'Zoe Ruiz'].map((name) => ({ name, company_domain: 'acme.example' })),
      { name: 'people.jsonl' },
    );
    expect(all(store, 'contacts').map(({ name }) => name)).toEqual(['कमल शर्मा', 'कमला शर्मा', 'ハンダ', 'パンダ', 'Zoe Ruiz']);
    store.close();
  });

  it('half a name identifies nobody, and a complete name is kept', async () => {
    const store = await emptyStore();
    const header = ['First Name', 'Last Name', 'Email', 'Domain'];
    const { rejected } = await load(store, [
      header,
      ['', 'Ruiz', '', 'acme.example'],
      ['Ana', '', '', 'acme.example'],
      ['Ana', 'Ruiz', 'ana@acme.example', 'acme.example'],
    ]);
    expect(rejected.map(({ line, code }) => [line, code])).toEqual([
      [2, 'no_identity'],
      [3, 'no_identity'],
    ]);
    await load(store, [header, ['Ana', '', 'ana@acme.example', '']], { asOf: '2026-02-01' });
    const { counts } = await load(store, [header, ['Ana', 'Ruiz', '', 'acme.example']], { asOf: '2026-03-01' });
    expect(counts).toMatchObject({ added: 0 });
    expect(all(store, 'contacts', true)).toMatchObject([{ name: 'Ana Ruiz', first_name: 'Ana', last_name: 'Ruiz' }]);
    store.close();
  });

  it('a name that several people at a company have makes a new person, and a repeated row changes only that one', async () => {
    const store = await emptyStore();
    await load(store, [
      ['email', 'name', 'domain'],
      ['ada.a@acme.example', 'Ada Example', 'acme.example'],
      ['ada.b@acme.example', 'Ada Example', 'acme.example'],
    ]);
    for (let again = 0; again < 4; again++)
      await load(store, [
        ['name', 'domain', 'title'],
        ['Ada Example', 'acme.example', `CTO ${again}`],
      ]);
    expect(all(store, 'contacts').map(({ email, title }) => [email, title])).toEqual([
      ['ada.a@acme.example', undefined],
      ['ada.b@acme.example', undefined],
      [undefined, 'CTO 3'],
    ]);
    store.close();
  });

  it('the stored records are the same whether search terms were made ahead or not', async () => {
    const [ahead, late] = [await emptyStore(), await emptyStore()];
    const people = Array.from({ length: 40 }, (_, index) => ({
      email: `ada.${index % 30}@works-${index % 7}.example`,
      name: `Ada ${index % 9} Example`,
      title: index % 2 === 0 ? 'CTO' : 'Engineer',
      skills: ['Go', `S${index % 5}`],
      company: { name: `Works ${index % 7}`, domain: `works-${index % 7}.example`, employees: index },
    }));
    for (const [store, expectsNew] of [
      [ahead, true],
      [late, false],
    ] as const)
      await load(store, people, { expectsNew });
    // Terms are numbered in order of first use, so their numbers differ.
    for (const sql of [
      'SELECT id, email, name_key, company_domain, rank, doc, observed_at, field_sources FROM people ORDER BY seq',
      'SELECT id, domain, employees, doc, field_sources FROM companies ORDER BY seq',
      'SELECT term, bits FROM person_terms JOIN person_postings ON at / 65536 = id ORDER BY term',
      'SELECT term, bits FROM company_terms JOIN company_postings ON at / 65536 = id ORDER BY term',
      'SELECT * FROM employers',
      'SELECT * FROM domains ORDER BY id',
      'SELECT * FROM company_sizes',
      'SELECT * FROM person_name_heads',
      'SELECT * FROM other_numbers',
    ])
      expect(late.prepare(sql).all()).toEqual(ahead.prepare(sql).all());
    ahead.close();
    late.close();
  });

  it('repeated rows store the same records, changed or not, in one file or in a file each', async () => {
    // One changed row among several unchanged ones: the row after it could be mistaken for an unchanged one.
    const rarely = (value: string, other: string): fc.Arbitrary<string> => fc.constantFrom(value, value, value, value, other);
    const person = fc.record({
      email: rarely('ada@acme.example', 'bob@acme.example'),
      title: rarely('CTO', 'CEO'),
      company_domain: rarely('acme.example', 'works.example'),
      updated_at: rarely('2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(person, { minLength: 8, maxLength: 16 }), async (people) => {
        const [together, apart] = [await emptyStore(), await emptyStore()];
        const { counts } = await load(together, people);
        const alone: (typeof counts)[] = [];
        for (const one of people) alone.push((await load(apart, [one])).counts);
        for (const change of ['added', 'updated', 'unchanged'] as const)
          expect(counts[change]).toBe(alone.reduce((sum, one) => sum + one[change], 0));
        expect(all(together, 'contacts', true)).toEqual(all(apart, 'contacts', true));
        together.close();
        apart.close();
      }),
      { numRuns: casesOf(5, 15) },
    );
  });

  it('a person with an id that is too long to be stored is recognised again', async () => {
    const store = await emptyStore();
    const person = { id: 'i'.repeat(200), name: 'Ada Example' };
    const added: number[] = [];
    for (let times = 0; times < 3; times++) added.push((await load(store, [person])).counts.added);
    expect(added).toEqual([1, 0, 0]);
    store.close();
  });

  it('a signal is recognised again, wherever a row has its type and its company', async () => {
    const store = await emptyStore();
    const signal = {
      id: 's1',
      type: 'funding',
      domain: 'acme.example',
      occurred_at: '2026-01-02',
      detected_at: '2026-01-03',
      data: { amount: 1 },
    };
    const { type, domain, ...others } = signal;
    expect((await load(store, [signal], { kind: 'signals' })).counts.added).toBe(1);
    for (const again of [signal, { ...others, company: { domain }, type }])
      expect((await load(store, [again], { kind: 'signals' })).counts.unchanged).toBe(1);
    expect(Object.keys(JSON.parse(String(store.prepare('SELECT doc FROM signals').get()?.['doc'])) as object).slice(-2)).toEqual([
      'type',
      'company',
    ]);
    store.close();
  });
});
