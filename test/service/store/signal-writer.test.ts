import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { exportRecords, tableCells, tableColumns } from '../../../src/service/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { casesOf } from '../../support/sample.ts';
import { emptyStore, load } from '../loading.ts';
import { backTo } from '../older-stores.ts';
import { temporaryFolder } from '../harness.ts';

const signals = (store: Store): SparseRecord[] => [...exportRecords(store, 'signals', false)];
const put = async (store: Store, rows: Parameters<typeof load>[1]) => (await load(store, rows, { kind: 'signals' })).counts;
const inOrder = (records: readonly SparseRecord[]): string[] => records.map((one) => JSON.stringify(Object.entries(one).sort(([first], [second]) => (first < second ? -1 : 1)))).sort();

const TIMES = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'];
const VERSION = fc.record(
  {
    id: fc.constantFrom('s1', 's2'),
    type: fc.constantFrom('funding', 'hiring'),
    company: fc.record({ domain: fc.constantFrom('a.example', 'b.example'), name: fc.constantFrom('A', 'B') }, { requiredKeys: ['domain'] }),
    occurred_at: fc.constantFrom(...TIMES),
    detected_at: fc.constantFrom(...TIMES),
    confidence: fc.constantFrom(0.5, 0.7),
    source_url: fc.constantFrom('https://a.example/1', ''),
    person: fc.constantFrom({ email: 'ada@a.example' }, { name: 'Bob' }, {}),
    data: fc.constantFrom({ amount_usd: 5 }, { amount_usd: 7, investors: ['A'] }, { openings: 3 }, {}, { amount_usd: null }),
  },
  { requiredKeys: ['id', 'type', 'company', 'occurred_at', 'detected_at'] },
);
/** Of one time there is one version of a signal: of two the one that comes last would be taken. */
const VERSIONS = fc.uniqueArray(VERSION, { maxLength: 8, selector: (one) => `${one.id} ${one.type} ${one.company.domain} ${one.detected_at ?? one.occurred_at}` });

it('keeps what was told of a signal last, field by field, whatever the order, and coming again changes nothing', async () => {
  await fc.assert(
    fc.asyncProperty(VERSIONS.chain((versions) => fc.tuple(fc.constant(versions), fc.shuffledSubarray(versions, { minLength: versions.length }))), async ([versions, shuffled]) => {
      const [one, other] = [await emptyStore(), await emptyStore()];
      await put(one, versions);
      for (const version of shuffled) await put(other, [version]);
      // Which of several comes first has the id that they were given.
      const known = (store: Store) => inOrder(signals(store).map(({ id: _id, ...rest }) => rest));
      expect(known(other)).toEqual(known(one));
      expect(signals(one)).toHaveLength(new Set(versions.map(({ id, type, company }) => `${id} ${type} ${company.domain}`)).size);
      const before = signals(one);
      await put(one, shuffled);
      expect(signals(one)).toEqual(before);
      one.close();
      other.close();
    }),
    { numRuns: casesOf(8, 25) },
  );
});

it('about who was erased goes and stays out by an id that another has, too, and the other\'s stay and come in', async () => {
  const store = await emptyStore();
  const signal = (id: string, name: string): SparseRecord => ({ id, type: 'executive_move', domain: 'a.example', occurred_at: TIMES[0], person: { id: '1', name } });
  await load(store, [{ id: '1', email: 'bob@a.example', name: 'Bob Stone' }, { id: '1', email: 'ada@a.example', name: 'Ada Example' }]);
  await put(store, [signal('s1', 'Ada Example'), signal('s2', 'Bob Stone')]);
  expect(suppress(store, ['ada@a.example'], 7)).toMatchObject({ people: 1, signals: 1 });
  expect(await put(store, [signal('s3', 'Ada Example'), signal('s4', 'Bob Stone')])).toMatchObject({ added: 1, rejected: { suppressed: 1 } });
  expect(signals(store).map(({ id }) => String(id)).toSorted()).toEqual(['s2', 's4']);
  store.close();
});

it('takes a correction that does not say of when it is, and nothing about who was erased, wherever it names them', async () => {
  const store = await emptyStore();
  const signal = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[1], data: { amount_usd: 5 } };
  await put(store, [signal]);
  await put(store, [{ ...signal, occurred_at: TIMES[0], data: { amount_usd: 7 } }]);
  expect(signals(store)).toMatchObject([{ id: 's1', occurred_at: TIMES[0], data: { amount_usd: 7 } }]);
  await load(store, [{ email: 'ada@a.example', name: 'Ada' }]);
  const naming = ['Contact:\nada@a.example', '(ada@a.example)', 'https://x.example/?email=ada%40a.example&x', 'mailto:ada@a.example?subject=x'].map((note, n) => ({ ...signal, id: `n${n}`, data: { note } }));
  await put(store, naming);
  expect(signals(store)).toHaveLength(5);
  suppress(store, ['ada@a.example'], 7);
  expect(signals(store).map(({ id }) => id)).toEqual(['s1']);
  expect(await put(store, naming)).toMatchObject({ added: 0, rejected: { suppressed: 4 } });
  store.close();
});

it('keeps no address and no number of whom it is about, and goes with them by any that a report had', async () => {
  const store = await emptyStore();
  await load(store, [{ email: 'ada@a.example', mobile: '+12125550100', emails: [{ email: 'ada@home.example' }], name: 'Ada' }, { email: 'bob@a.example', name: 'Bob' }]);
  const signal = { type: 'executive_move', domain: 'b.example', occurred_at: TIMES[0], data: { move: 'joined' } };
  const named = [{ person: { email: 'ADA@home.example' } }, { person: { mobile: '+1 212 555 0100' } }, { data: { move: 'joined', to: 'CTO <ada@a.example>' } }, { person: { name: 'Bob', email: 'bob@a.example' } }];
  await put(store, named.map((one, n) => ({ ...signal, id: `s${n}`, ...one })));
  // Nothing is new of it but the address.
  const later = { ...signal, id: 's4', person: { title: 'CTO' } };
  await put(store, [later]);
  expect(await put(store, [{ ...later, person: { title: 'CTO', personal_emails: ['ada@home.example'] } }])).toMatchObject({ unchanged: 1, dropped: { 'person.personal_emails': 1 } });
  expect(JSON.stringify([signals(store), store.prepare('SELECT * FROM signals').all()])).not.toMatch(/@|555/);
  expect(suppress(store, ['ada@a.example'], 7)).toMatchObject({ signals: 4 });
  expect(signals(store).map(({ id }) => id)).toEqual(['s3']);
  // Theirs go with them.
  expect(store.prepare('SELECT count(*) AS n FROM signal_keys').get()).toEqual({ n: 1 });
  store.close();
});

it('that names somebody by name alone goes with them, and one that has the address of a namesake stays', async () => {
  const store = await emptyStore();
  await load(store, [{ email: 'ada@a.example', name: 'Ada Poe' }, { email: 'ada.poe@a.example', name: 'Ada Poe' }]);
  const signal = { type: 'executive_move', domain: 'a.example', occurred_at: TIMES[0], person: { name: 'Ada Poe' } };
  await put(store, [{ ...signal, id: 's1' }, { ...signal, id: 's2', person: { name: 'Ada Poe', email: 'ada.poe@a.example' } }]);
  suppress(store, ['ada@a.example'], 7);
  expect(signals(store).map(({ id }) => id)).toEqual(['s2']);
  store.close();
});

it('keeps the later version whole where both say something', async () => {
  for (const order of [[0, 1], [1, 0]]) {
    const store = await emptyStore();
    const version = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[0] };
    const versions = [{ ...version, detected_at: TIMES[1], data: { amount_usd: 5, investors: ['A'] }, confidence: 0.5 }, { ...version, detected_at: TIMES[2], data: { amount_usd: 7 } }];
    for (const at of order) await put(store, [versions[at] as SparseRecord]);
    expect(signals(store)).toMatchObject([{ id: 's1', detected_at: TIMES[2], confidence: 0.5, data: { amount_usd: 7, investors: null } }]);
    store.close();
  }
});

it('loses nothing by an import of its own table', async () => {
  await fc.assert(
    fc.asyncProperty(VERSIONS, async (versions) => {
      const store = await emptyStore();
      await put(store, versions);
      const before = signals(store);
      const columns = tableColumns('signals');
      expect(await put(store, [columns, ...before.map((one) => tableCells(one, columns))])).toMatchObject({ added: 0, updated: 0, rejected: {} });
      expect(signals(store)).toEqual(before);
      store.close();
    }),
    { numRuns: casesOf(6, 20) },
  );
});

it('takes an id that another company or another type has for another signal', async () => {
  const store = await emptyStore();
  const row = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[0] };
  const rows = [row, { ...row, domain: 'b.example' }, { ...row, type: 'hiring' }];
  expect(await put(store, rows)).toMatchObject({ added: 3 });
  expect(await put(store, rows)).toMatchObject({ added: 0, unchanged: 3 });
  const [first, second] = signals(store);
  expect(first).toMatchObject({ id: 's1', company: { domain: 'a.example' } });
  expect(second).toMatchObject({ id: expect.stringMatching(/^sg_/) as string, company: { domain: 'b.example' } });
  // Also when the first is no more.
  store.exec("DELETE FROM signals WHERE id = 's1'");
  expect(await put(store, rows.slice(1))).toMatchObject({ added: 0, unchanged: 2 });
  // An export names each by its own id.
  const elsewhere = await emptyStore();
  const kept = signals(store);
  await put(elsewhere, kept);
  expect(signals(elsewhere)).toEqual(kept);
  elsewhere.close();
  store.close();
});

it('goes by when a signal of an older store was noticed', async () => {
  const path = `${await temporaryFolder()}/older.sqlite`;
  const old = openStore(path);
  const signal = { id: 's1', type: 'funding', domain: 'a.example', occurred_at: TIMES[0] };
  await put(old, [{ ...signal, detected_at: TIMES[1], confidence: 0.5 }]);
  backTo(old, 13);
  old.close();
  const store = openStore(path);
  await put(store, [{ ...signal, detected_at: TIMES[0], confidence: 0.1, source_url: 'https://a.example/1' }]);
  expect(signals(store)).toMatchObject([{ detected_at: TIMES[1], confidence: 0.5, source_url: 'https://a.example/1' }]);
  await put(store, [{ ...signal, detected_at: TIMES[2], confidence: 0.7 }]);
  expect(signals(store)).toMatchObject([{ detected_at: TIMES[2], confidence: 0.7, source_url: 'https://a.example/1' }]);
  store.close();
});
