import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../src/service/admin/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { casesOf } from '../../support/sample.ts';
import { emptyStore, load } from '../loading.ts';
import { DESK, NAMESAKES, PEOPLE, RENAMED, generateReports, type GeneratedReports, type Report } from './generated-reports.ts';
import { SEED } from '../../support/seed.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];

async function put(store: Store, reports: readonly Report[], expectsNew = true): Promise<Awaited<ReturnType<typeof load>>> {
  return load(
    store,
    reports.map(({ row }) => ({ ...row })),
    { expectsNew },
  );
}

async function storeOf(reports: readonly Report[]): Promise<Store> {
  const store = await emptyStore();
  await put(store, reports);
  return store;
}

/** The people about whom a record has a text that nobody else has. */
function ownersOf(record: SparseRecord): number[] {
  const found = JSON.stringify(record).matchAll(/zqm(\d)x|zqq?(\d)[.@"-]|\+1646555(\d)|crm-(\d)/g);
  return [...new Set([...found].map((match) => Number(match.slice(1).find((part) => part !== undefined))))];
}

/** Every text in the file. */
function textsIn(store: Store): string {
  const tables = store.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all();
  return tables.map(({ name }) => JSON.stringify(store.prepare(`SELECT * FROM ${String(name)}`).all())).join('\n');
}

/** Addresses and profiles of a row that connect it to other rows of the same person. */
function leadsOf(
  { row: { email, linkedin_url: profile, emails = [], personal_emails: personal = [] } }: Report,
  { ownAddresses }: GeneratedReports,
): string[] {
  const own = [email ?? '', ...emails.map((one) => one.email), ...personal].filter((address) => ownAddresses.flat().includes(address));
  return [...own, ...(profile === undefined ? [] : [profile])];
}

/** All values in the connected rows of one person, from an address on. */
function ledTo(address: string, generated: GeneratedReports): Report[] {
  const keys = new Set([address]);
  for (let before = 0; before < keys.size;) {
    before = keys.size;
    for (const one of generated.reports)
      if (leadsOf(one, generated).some((key) => keys.has(key))) for (const key of leadsOf(one, generated)) keys.add(key);
  }
  return generated.reports.filter((one) => leadsOf(one, generated).some((key) => keys.has(key)));
}

const seeds = fc.record({ seed: fc.integer({ min: 1, max: 1e9 }), count: fc.integer({ min: 1, max: 40 }) });

/** Checks that hold for every set of reports. */
async function always(cases: number, check: (seed: number, count: number) => Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(seeds, ({ seed, count }) => check(seed, count)),
    { seed: SEED, numRuns: casesOf(cases, 20 * cases) },
  );
}

describe('people from many sources', () => {
  it('people never have a field of another person, in any order and repetition of reports', async () => {
    await always(20, async (seed, count) => {
      const { reports } = generateReports(seed, count, { isShared: true });
      const store = await storeOf(reports);
      for (const again of [[], reports, reports.toReversed()]) {
        await put(store, again);
        expect(people(store).filter((record) => ownersOf(record).length > 1)).toEqual([]);
      }
      store.close();
    });
  }, 300_000);

  it('people are found by each of their addresses, profiles and ids, with the newest values', async () => {
    await always(12, async (seed, count) => {
      const generated = generateReports(seed, count, { isShared: true });
      const store = await storeOf(generated.reports);
      const directory = openDirectory(store);
      for (const one of generated.reports) {
        const { id, linkedin_url: profile } = one.row;
        for (const key of leadsOf(one, generated))
          expect([key, ownersOf((key === profile ? directory.personByProfile(key) : directory.personByEmail(key))?.person ?? {})]).toEqual([
            key,
            [one.person],
          ]);
        // Two records of one person may share it. Then it finds neither.
        const byId = id?.startsWith('crm') === true ? directory.personById(id) : null;
        if (byId !== null) expect([id, ownersOf(byId.person)]).toEqual([id, [one.person]]);
      }
      const shown = JSON.stringify(people(store));
      for (let n = 0; n < PEOPLE; n++) {
        const [newest] = generated.reports
          .filter(({ person }) => person === n)
          .toSorted((one, other) => (one.row.updated_at < other.row.updated_at ? 1 : -1));
        if (newest !== undefined) expect(shown).toContain(`"Title ${newest.mark}"`);
      }
      store.close();
    });
  }, 300_000);

  it('people are erased completely by any of their addresses, stay erased, and other people lose nothing', async () => {
    await always(12, async (seed, count) => {
      const generated = generateReports(seed, count, { isShared: true });
      const store = await storeOf(generated.reports);
      const own = generated.reports
        .filter(({ person }) => person !== RENAMED)
        .flatMap((one) => leadsOf(one, generated).filter((key) => key.includes('@')));
      const address = own[seed % Math.max(1, own.length)];
      if (address === undefined) return;
      const gone = ledTo(address, generated);
      const keys = new Set(gone.flatMap((one) => leadsOf(one, generated)));
      await load(
        store,
        [...keys]
          .filter((key) => key.includes('@'))
          .map((email) => ({ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { email } })),
        { kind: 'signals' },
      );
      const before = people(store).filter((record) => !ownersOf(record).includes(gone[0]?.person ?? -1));
      suppress(store, [address], 7);
      const isLeft = (): string[] => {
        const texts = textsIn(store);
        return [...gone.map(({ mark }) => mark), ...keys].filter((text) => texts.includes(text));
      };
      expect([isLeft(), people(store).filter((record) => !ownersOf(record).includes(gone[0]?.person ?? -1))]).toEqual([[], before]);
      const directory = openDirectory(store);
      for (const key of keys)
        expect([key, directory.isSuppressed(key.includes('@') ? { emails: [key] } : { profile: key })]).toEqual([key, true]);
      const { rejected } = await put(store, generated.reports);
      expect(isLeft()).toEqual([]);
      // Relatives may have the same number, other people the same address, and a namesake may work at the same desk.
      const others = generated.reports.filter(
        (one) =>
          !(NAMESAKES.includes(one.person) && one.row.email === DESK) &&
          one.person !== gone[0]?.person &&
          !gone.some(
            ({ row }) =>
              (one.row.email === row.email && row.email !== undefined) || (one.row.mobile === row.mobile && row.mobile !== undefined),
          ),
      );
      expect(others.filter((one) => rejected.some(({ line }) => generated.reports[line - 2] === one))).toEqual([]);
      store.close();
    });
  }, 300_000);

  it('people are the same whether rows arrive singly or in batches, with terms made ahead or not', async () => {
    await always(6, async (seed, count) => {
      const { reports } = generateReports(seed, count, { isShared: true });
      const [store, another] = [await storeOf(reports), await emptyStore()];
      for (const [at, one] of reports.entries()) await put(another, [one], at % 2 === 0);
      expect(people(another)).toEqual(people(store));
      store.close();
      another.close();
    });
  }, 300_000);

  it('people with a profile in each row are the same after repeated, reordered and re-imported rows', async () => {
    await always(12, async (seed, count) => {
      const { reports } = generateReports(seed, count, { isShared: false, haveProfiles: true });
      const [store, reversed, elsewhere] = [await storeOf(reports), await storeOf(reports.toReversed()), await emptyStore()];
      const before = people(store);
      expect((await put(store, reports)).counts).toMatchObject({ added: 0, updated: 0 });
      expect(people(store)).toEqual(before);
      await load(elsewhere, before);
      expect(people(elsewhere)).toEqual(before);
      const facts = (one: Store): string[] =>
        people(one)
          .map(({ id: _id, ...record }) => JSON.stringify(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1))))
          .toSorted();
      expect(facts(reversed)).toEqual(facts(store));
      for (const one of [store, reversed, elsewhere]) one.close();
    });
  }, 300_000);
});
