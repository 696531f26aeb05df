import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../src/service/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { suppress } from '../../../src/service/store/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { casesOf, SAMPLE_SEED } from '../../support/sample.ts';
import { emptyStore, load } from '../loading.ts';
import { DESK, NAMESAKES, PEOPLE, RENAMED, story, type Story, type Telling } from './people-story.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];

async function put(store: Store, tellings: readonly Telling[], expectsNews = true): Promise<Awaited<ReturnType<typeof load>>> {
  return load(store, tellings.map(({ row }) => ({ ...row })), { expectsNews });
}

async function storeOf(tellings: readonly Telling[]): Promise<Store> {
  const store = await emptyStore();
  await put(store, tellings);
  return store;
}

/** Of whom a record says something that is of nobody else. */
function ownersOf(record: SparseRecord): number[] {
  const found = JSON.stringify(record).matchAll(/zqm(\d)x|zqq?(\d)[.@"-]|\+1646555(\d)|crm-(\d)/g);
  return [...new Set([...found].map((match) => Number(match.slice(1).find((part) => part !== undefined))))];
}

/** Every text in the file. */
function textsIn(store: Store): string {
  const tables = store.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'").all();
  return tables.map(({ name }) => JSON.stringify(store.prepare(`SELECT * FROM ${String(name)}`).all())).join('\n');
}

/** Addresses and profiles by which a row leads to others of the same person. */
function leadsOf({ row: { email, linkedin_url: profile, emails = [], personal_emails: personal = [] } }: Telling, { ownAddresses }: Story): string[] {
  const own = [email ?? '', ...emails.map((one) => one.email), ...personal].filter((address) => ownAddresses.flat().includes(address));
  return [...own, ...(profile === undefined ? [] : [profile])];
}

/** What rows of one person say of them who lead to each other, from an address on. */
function ledTo(address: string, told: Story): Telling[] {
  const keys = new Set([address]);
  for (let before = 0; before < keys.size;) {
    before = keys.size;
    for (const one of told.tellings) if (leadsOf(one, told).some((key) => keys.has(key))) for (const key of leadsOf(one, told)) keys.add(key);
  }
  return told.tellings.filter((one) => leadsOf(one, told).some((key) => keys.has(key)));
}

const seeds = fc.record({ seed: fc.integer({ min: 1, max: 1e9 }), count: fc.integer({ min: 1, max: 40 }) });

/** Holds of every story. */
async function always(cases: number, check: (seed: number, count: number) => Promise<void>): Promise<void> {
  await fc.assert(fc.asyncProperty(seeds, ({ seed, count }) => check(seed, count)), { seed: SAMPLE_SEED, numRuns: casesOf(cases, 20 * cases) });
}

describe('people of whom many sources tell', () => {
  it('are never shown with a fact of somebody else, however often it is told and in whatever order', async () => {
    await always(20, async (seed, count) => {
      const { tellings } = story(seed, count, { isShared: true });
      const store = await storeOf(tellings);
      for (const again of [[], tellings, tellings.toReversed()]) {
        await put(store, again);
        expect(people(store).filter((record) => ownersOf(record).length > 1)).toEqual([]);
      }
      store.close();
    });
  }, 300_000);

  it('are found by every address, profile and id of theirs, with the newest that was told of them', async () => {
    await always(12, async (seed, count) => {
      const told = story(seed, count, { isShared: true });
      const store = await storeOf(told.tellings);
      const directory = openDirectory(store);
      for (const one of told.tellings) {
        const { id, linkedin_url: profile } = one.row;
        for (const key of leadsOf(one, told)) expect([key, ownersOf((key === profile ? directory.personByProfile(key) : directory.personByEmail(key))?.person ?? {})]).toEqual([key, [one.person]]);
        // Two records of theirs may have it, and then it leads to neither.
        const byId = id?.startsWith('crm') === true ? directory.personById(id) : null;
        if (byId !== null) expect([id, ownersOf(byId.person)]).toEqual([id, [one.person]]);
      }
      const shown = JSON.stringify(people(store));
      for (let n = 0; n < PEOPLE; n++) {
        const [newest] = told.tellings.filter(({ person }) => person === n).toSorted((one, other) => (one.row.updated_at < other.row.updated_at ? 1 : -1));
        if (newest !== undefined) expect(shown).toContain(`"Title ${newest.mark}"`);
      }
      store.close();
    });
  }, 300_000);

  it('leave nothing behind when they are erased by any address of theirs, come not back, and take nothing of anybody else with them', async () => {
    await always(12, async (seed, count) => {
      const told = story(seed, count, { isShared: true });
      const store = await storeOf(told.tellings);
      const own = told.tellings.filter(({ person }) => person !== RENAMED).flatMap((one) => leadsOf(one, told).filter((key) => key.includes('@')));
      const address = own[seed % Math.max(1, own.length)];
      if (address === undefined) return;
      const gone = ledTo(address, told);
      const keys = new Set(gone.flatMap((one) => leadsOf(one, told)));
      await load(store, [...keys].filter((key) => key.includes('@')).map((email) => ({ type: 'executive_move', domain: 'acme.example', occurred_at: '2026-01-01', person: { email } })), { kind: 'signals' });
      const before = people(store).filter((record) => !ownersOf(record).includes(gone[0]?.person ?? -1));
      suppress(store, [address], 7);
      const isLeft = (): string[] => {
        const texts = textsIn(store);
        return [...gone.map(({ mark }) => mark), ...keys].filter((text) => texts.includes(text));
      };
      expect([isLeft(), people(store).filter((record) => !ownersOf(record).includes(gone[0]?.person ?? -1))]).toEqual([[], before]);
      const directory = openDirectory(store);
      for (const key of keys) expect([key, directory.isSuppressed(key.includes('@') ? { emails: [key] } : { profile: key })]).toEqual([key, true]);
      const { rejected } = await put(store, told.tellings);
      expect(isLeft()).toEqual([]);
      // Their number may have been the family's, their address another's as well, and their namesake at the same desk.
      const others = told.tellings.filter((one) => !(NAMESAKES.includes(one.person) && one.row.email === DESK) && one.person !== gone[0]?.person && !gone.some(({ row }) => (one.row.email === row.email && row.email !== undefined) || (one.row.mobile === row.mobile && row.mobile !== undefined)));
      expect(others.filter((one) => rejected.some(({ line }) => told.tellings[line - 2] === one))).toEqual([]);
      store.close();
    });
  }, 300_000);

  it('are the same whether rows come one by one or all at once, as news or not', async () => {
    await always(6, async (seed, count) => {
      const { tellings } = story(seed, count, { isShared: true });
      const [store, another] = [await storeOf(tellings), await emptyStore()];
      for (const [at, one] of tellings.entries()) await put(another, [one], at % 2 === 0);
      expect(people(another)).toEqual(people(store));
      store.close();
      another.close();
    });
  }, 300_000);

  it('are the same where each row has a profile of one person: when all rows come again, in another order, and when an export comes into an empty store', async () => {
    await always(12, async (seed, count) => {
      const { tellings } = story(seed, count, { isShared: false, haveProfiles: true });
      const [store, reversed, elsewhere] = [await storeOf(tellings), await storeOf(tellings.toReversed()), await emptyStore()];
      const before = people(store);
      expect((await put(store, tellings)).counts).toMatchObject({ added: 0, updated: 0 });
      expect(people(store)).toEqual(before);
      await load(elsewhere, before);
      expect(people(elsewhere)).toEqual(before);
      const facts = (one: Store): string[] => people(one).map(({ id: _id, ...record }) => JSON.stringify(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))).toSorted();
      expect(facts(reversed)).toEqual(facts(store));
      for (const one of [store, reversed, elsewhere]) one.close();
    });
  }, 300_000);
});
