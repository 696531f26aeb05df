import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../src/service/admin/export/export-records.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { suppress } from '../../../src/service/erasure/suppress.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { casesOf } from '../../support/sample.ts';
import { emptyStore, load } from '../loading.ts';
import { PlainPeople } from './plain-people.ts';
import type { Row } from './plain-person.ts';
import { SEED } from '../../support/seed.ts';

const people = (store: Store): SparseRecord[] => [...exportRecords(store, 'contacts', false)];

const ADDRESSES = ['ada@acme.example', 'ada@bolt.example', 'bob@acme.example', 'eve@gmail.com', 'info@acme.example', 'desk@bolt.example'];
const IDS = ['1', '2', 'crm-7'];
const PROFILES = ['profiles.example/in/ada', 'profiles.example/in/ada-2', 'profiles.example/in/bob'];
const NUMBERS = ['+12125550100', '+12125550101', '+12125550102'];
const DAYS = Array.from({ length: 20 }, (_, n) => `2025-01-${String(n + 1).padStart(2, '0')}`);
const COMPANIES: readonly NonNullable<Row['company']>[] = [
  { name: 'Acme', domain: 'acme.example' },
  { name: 'Bolt', domain: 'bolt.example' },
  { domain: 'third.example' },
];

const few = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.uniqueArray(of, { minLength: 1, maxLength: 2, selector: (one) => JSON.stringify(one) });
const seldom = <T>(of: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: of });
const anyRow: fc.Arbitrary<Row> = fc
  .record({
    email: fc.option(fc.constantFrom(...ADDRESSES), { nil: undefined }),
    id: seldom(fc.constantFrom(...IDS)),
    linkedin_url: seldom(fc.constantFrom(...PROFILES)),
    name: fc.option(fc.constantFrom('Ada Example', 'Example, Ada Maria', 'Ada', 'Bob Beck', 'Éve Noël'), { nil: undefined }),
    first_name: seldom(fc.constantFrom('Ada', 'Bob')),
    last_name: seldom(fc.constantFrom('Example', 'Miller')),
    title: seldom(fc.constantFrom('CTO', 'CFO')),
    mobile: seldom(fc.constantFrom(...NUMBERS)),
    email_status: seldom(fc.constantFrom('verified', 'bounced')),
    emails: seldom(
      few(fc.record({ email: fc.constantFrom(...ADDRESSES), type: fc.constantFrom('work', null), status: fc.constant(null) })),
    ),
    personal_emails: seldom(few(fc.constantFrom(...ADDRESSES))),
    phones: seldom(few(fc.record({ number: fc.constantFrom(...NUMBERS), type: fc.constantFrom('mobile', 'work', null) }))),
    company: seldom(fc.constantFrom(...COMPANIES)),
    updated_at: fc.constantFrom(...DAYS),
  })
  .map((row) => JSON.parse(JSON.stringify(row)) as Row)
  // Realistic files: a domain of an address has no other name in the same file, and a row identifies its person.
  .map((row) => (row.email?.endsWith('gmail.com') === true && row.title === 'CFO' ? { ...row, company: { name: 'ACME' } } : row))
  .filter(
    (row) =>
      row.email !== undefined ||
      row.linkedin_url !== undefined ||
      row.id !== undefined ||
      (row.name !== undefined && row.company?.domain !== undefined),
  );
const rows = fc.array(anyRow, { minLength: 1, maxLength: 12 });

/** A record as it is exported, except a generated id. */
function asShown(record: SparseRecord): SparseRecord {
  const { id, ...rest } = record;
  return IDS.includes(id as string) ? record : rest;
}

/** Compares a store with the expected people, and looks each key up: the index of the found person, or whether an erased person had it. */
function expectSame(store: Store, plain: PlainPeople): void {
  const records = people(store);
  expect(records.map(asShown)).toEqual(plain.people.map((person) => plain.shown(person)));
  const directory = openDirectory(store);
  const placeOf = (row: { readonly person: SparseRecord } | null): number => records.findIndex(({ id }) => id === row?.person['id']);
  const found = [
    ...ADDRESSES.map((email) => [email, placeOf(directory.personByEmail(email)), directory.isSuppressed({ emails: [email] })]),
    ...PROFILES.map((profile) => [profile, placeOf(directory.personByProfile(profile)), directory.isSuppressed({ profile })]),
    ...IDS.map((id) => [id, placeOf(directory.personById(id)), directory.isSuppressed({ id, knownId: id })]),
  ];
  const keys = [
    ...ADDRESSES.map((key) => ['email', key] as const),
    ...PROFILES.map((key) => ['profile', key] as const),
    ...IDS.map((key) => ['id', key] as const),
  ];
  expect(found).toEqual(keys.map(([by, key]) => [key, plain.people.indexOf(plain.foundBy(by, key) as never), plain.isErasedBy(key)]));
}

describe('the people of a store', () => {
  it('a store has the people of the reference model, with the same fields', async () => {
    await fc.assert(
      fc.asyncProperty(rows, fc.option(fc.constantFrom(...ADDRESSES)), rows, async (before, asked, after) => {
        const [store, plain] = [await emptyStore(), new PlainPeople()];
        const put = async (some: readonly Row[]): Promise<void> => {
          const { counts } = await load(
            store,
            some.map((row) => ({ ...row })),
          );
          expect(counts.rejected['suppressed'] ?? 0).toBe(some.filter((row) => !plain.put(row)).length);
          expectSame(store, plain);
        };
        await put(before);
        if (asked !== null) {
          suppress(store, [asked], 7);
          plain.suppress(asked);
          expectSame(store, plain);
          await put(after);
        }
        store.close();
      }),
      { seed: SEED, numRuns: casesOf(25, 800) },
    );
  }, 300_000);
});
