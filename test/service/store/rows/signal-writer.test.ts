import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { exportRecords, tableCells, tableColumns } from '../../../../src/service/admin/export/export-records.ts';
import type { SparseRecord } from '../../../../src/service/records/whole-record.ts';
import { suppress } from '../../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { casesOf } from '../../../support/sample.ts';
import { emptyStore, load } from '../../loading.ts';

const signals = (store: Store): SparseRecord[] => [...exportRecords(store, 'signals', false)];
const put = async (store: Store, rows: Parameters<typeof load>[1]) => (await load(store, rows, { kind: 'signals' })).counts;
const inOrder = (records: readonly SparseRecord[]): string[] =>
  records.map((one) => JSON.stringify(Object.entries(one).sort(([first], [second]) => (first < second ? -1 : 1)))).sort();

const TIMES = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'];
const VERSION = fc.record(
  {
    id: fc.constantFrom('s1', 's2'),
    type: fc.constantFrom('funding', 'hiring'),
    company: fc.record(
      { domain: fc.constantFrom('a.example', 'b.example'), name: fc.constantFrom('A', 'B') },
      { requiredKeys: ['domain'] },
    ),
    occurred_at: fc.constantFrom(...TIMES),
    detected_at: fc.constantFrom(...TIMES),
    confidence: fc.constantFrom(0.5, 0.7),
    source_url: fc.constantFrom('https://a.example/1', ''),
    person: fc.constantFrom({ email: 'ada@a.example' }, { name: 'Bob' }, {}),
    data: fc.constantFrom({ amount_usd: 5 }, { amount_usd: 7, investors: ['A'] }, { openings: 3 }, {}, { amount_usd: null }),
  },
  { requiredKeys: ['id', 'type', 'company', 'occurred_at', 'detected_at'] },
);
/** Reports of a signal have different times: with equal times, the last report would win. */
const VERSIONS = fc.uniqueArray(VERSION, {
  maxLength: 8,
  selector: (one) => `${one.id} ${one.type} ${one.company.domain} ${one.detected_at ?? one.occurred_at}`,
});

it('a signal has the newest value of each field in any order of reports, and repeated reports change nothing', async () => {
  await fc.assert(
    fc.asyncProperty(
      VERSIONS.chain((versions) => fc.tuple(fc.constant(versions), fc.shuffledSubarray(versions, { minLength: versions.length }))),
      async ([versions, shuffled]) => {
        const [one, other] = [await emptyStore(), await emptyStore()];
        await put(one, versions);
        for (const version of shuffled) await put(other, [version]);
        // The first of several signals with the same id keeps it.
        const known = (store: Store) => inOrder(signals(store).map(({ id: _id, ...rest }) => rest));
        expect(known(other)).toEqual(known(one));
        expect(signals(one)).toHaveLength(new Set(versions.map(({ id, type, company }) => `${id} ${type} ${company.domain}`)).size);
        const before = signals(one);
        await put(one, shuffled);
        expect(signals(one)).toEqual(before);
        one.close();
        other.close();
      },
    ),
    { numRuns: casesOf(8, 25) },
  );
});

it('signals of an erased person stay out by a shared id, and those of the other person stay in', async () => {
  const store = await emptyStore();
  const signal = (id: string, name: string): SparseRecord => ({
    id,
    type: 'executive_move',
    domain: 'a.example',
    occurred_at: TIMES[0],
    person: { id: '1', name },
  });
  await load(store, [
    { id: '1', email: 'bob@a.example', name: 'Bob Stone' },
    { id: '1', email: 'ada@a.example', name: 'Ada Example' },
  ]);
  await put(store, [signal('s1', 'Ada Example'), signal('s2', 'Bob Stone')]);
  expect(suppress(store, ['ada@a.example'], 7)).toMatchObject({ people: 1, signals: 1 });
  expect(await put(store, [signal('s3', 'Ada Example'), signal('s4', 'Bob Stone')])).toMatchObject({
    added: 1,
    rejected: { suppressed: 1 },
  });
  expect(
    signals(store)
      .map(({ id }) => String(id))
      .toSorted(),
  ).toEqual(['s2', 's4']);
  store.close();
});

it('a correction without a time is accepted, unless it names an erased person anywhere', async () => {
  const store = await emptyStore();
  const signal = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[1], data: { amount_usd: 5 } };
  await put(store, [signal]);
  await put(store, [{ ...signal, occurred_at: TIMES[0], data: { amount_usd: 7 } }]);
  expect(signals(store)).toMatchObject([{ id: 's1', occurred_at: TIMES[0], data: { amount_usd: 7 } }]);
  await load(store, [{ email: 'ada@a.example', name: 'Ada' }]);
  const naming = [
    'Contact:\nada@a.example',
    '(ada@a.example)',
    'https://x.example/?email=ada%40a.example&x',
    'mailto:ada@a.example?subject=x',
  ].map((note, n) => ({ ...signal, id: `n${n}`, data: { note } }));
  await put(store, naming);
  expect(signals(store)).toHaveLength(5);
  suppress(store, ['ada@a.example'], 7);
  expect(signals(store).map(({ id }) => id)).toEqual(['s1']);
  expect(await put(store, naming)).toMatchObject({ added: 0, rejected: { suppressed: 4 } });
  store.close();
});

it('a signal stores no address or number of its person, and is erased by any that a report had', async () => {
  const store = await emptyStore();
  await load(store, [
    { email: 'ada@a.example', mobile: '+12125550100', emails: [{ email: 'ada@home.example' }], name: 'Ada' },
    { email: 'bob@a.example', name: 'Bob' },
  ]);
  const signal = { type: 'executive_move', domain: 'b.example', occurred_at: TIMES[0], data: { move: 'joined' } };
  const named = [
    { person: { email: 'ADA@home.example' } },
    { person: { mobile: '+1 212 555 0100' } },
    { data: { move: 'joined', to: 'CTO <ada@a.example>' } },
    { person: { name: 'Bob', email: 'bob@a.example' } },
  ];
  await put(
    store,
    named.map((one, n) => ({ ...signal, id: `s${n}`, ...one })),
  );
  // Only the address is new in this report.
  const later = { ...signal, id: 's4', person: { title: 'CTO' } };
  await put(store, [later]);
  expect(await put(store, [{ ...later, person: { title: 'CTO', personal_emails: ['ada@home.example'] } }])).toMatchObject({
    unchanged: 1,
    dropped: { 'person.personal_emails': 1 },
  });
  expect(JSON.stringify([signals(store), store.prepare('SELECT * FROM signals').all()])).not.toMatch(/@|555/);
  expect(suppress(store, ['ada@a.example'], 7)).toMatchObject({ signals: 4 });
  expect(signals(store).map(({ id }) => id)).toEqual(['s3']);
  // The signals of the same person are erased too.
  expect(store.prepare('SELECT count(*) AS n FROM signal_keys').get()).toEqual({ n: 1 });
  store.close();
});

it("a signal with a name alone is erased with its person, and one with a namesake's address stays", async () => {
  const store = await emptyStore();
  await load(store, [
    { email: 'ada@a.example', name: 'Ada Poe' },
    { email: 'ada.poe@a.example', name: 'Ada Poe' },
  ]);
  const signal = { type: 'executive_move', domain: 'a.example', occurred_at: TIMES[0], person: { name: 'Ada Poe' } };
  await put(store, [
    { ...signal, id: 's1' },
    { ...signal, id: 's2', person: { name: 'Ada Poe', email: 'ada.poe@a.example' } },
  ]);
  suppress(store, ['ada@a.example'], 7);
  expect(signals(store).map(({ id }) => id)).toEqual(['s2']);
  store.close();
});

it('the newer of two objects replaces the older completely', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const store = await emptyStore();
    const version = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[0] };
    const versions = [
      { ...version, detected_at: TIMES[1], data: { amount_usd: 5, investors: ['A'] }, confidence: 0.5 },
      { ...version, detected_at: TIMES[2], data: { amount_usd: 7 } },
    ];
    for (const at of order) await put(store, [versions[at] as SparseRecord]);
    expect(signals(store)).toMatchObject([{ id: 's1', detected_at: TIMES[2], confidence: 0.5, data: { amount_usd: 7, investors: null } }]);
    store.close();
  }
});

it('signals survive an import of their own export', async () => {
  await fc.assert(
    fc.asyncProperty(VERSIONS, async (versions) => {
      const store = await emptyStore();
      await put(store, versions);
      const before = signals(store);
      const columns = tableColumns('signals');
      expect(await put(store, [columns, ...before.map((one) => tableCells(one, columns))])).toMatchObject({
        added: 0,
        updated: 0,
        rejected: {},
      });
      expect(signals(store)).toEqual(before);
      store.close();
    }),
    { numRuns: casesOf(6, 20) },
  );
});

it('an id of another company or type is another signal', async () => {
  const store = await emptyStore();
  const row = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[0] };
  const rows = [row, { ...row, domain: 'b.example' }, { ...row, type: 'hiring' }];
  expect(await put(store, rows)).toMatchObject({ added: 3 });
  expect(await put(store, rows)).toMatchObject({ added: 0, unchanged: 3 });
  const [first, second] = signals(store);
  expect(first).toMatchObject({ id: 's1', company: { domain: 'a.example' } });
  expect(second).toMatchObject({ id: expect.stringMatching(/^sg_/) as string, company: { domain: 'b.example' } });
  // Also after the first signal was erased.
  store.exec("DELETE FROM signals WHERE id = 's1'");
  expect(await put(store, rows.slice(1))).toMatchObject({ added: 0, unchanged: 2 });
  // An export has a different id for each.
  const elsewhere = await emptyStore();
  const stored = signals(store);
  await put(elsewhere, stored);
  expect(signals(elsewhere)).toEqual(stored);
  elsewhere.close();
  store.close();
});
