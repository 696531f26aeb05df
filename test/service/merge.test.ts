import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergePerson } from '../../src/service/store/merge-person.ts';
import { nameOf } from '../../src/service/person-name.ts';
import { addressesOf } from '../../src/service/store/other-addresses.ts';
import { numbersOf } from '../../src/service/store/other-numbers.ts';
import { merge, stampOf, type KeptRecord, type Provenance } from '../../src/service/store/merge.ts';
import { casesOf } from '../support/sample.ts';

const record = fc.dictionary(fc.constantFrom('name', 'title', 'mobile', 'skills', 'city'), fc.oneof(fc.constantFrom('', null), fc.integer({ min: 1, max: 3 }), fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 2 })), { maxKeys: 5 });
/** Reports of one record, each of another time: what is of the same time has no order of its own. */
const reports = fc.uniqueArray(fc.tuple(record, fc.integer({ min: 1, max: 1_000 })), { selector: ([, atMs]) => atMs, minLength: 1, maxLength: 6 });

function mergeAll(list: readonly (readonly [Record<string, unknown>, number])[]): KeptRecord | null {
  let kept: KeptRecord | null = null;
  for (const [incoming, atMs] of list) kept = merge(kept, incoming, from(atMs)).record;
  return kept;
}

const from = (atMs: number): Provenance => ({ source: atMs % 3, atMs });

describe('merging', () => {
  it('comes to the same values from the same sources in whatever order the reports arrive', () => {
    fc.assert(
      fc.property(
        reports.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, shuffled]) => {
          const [one, other] = [mergeAll(list), mergeAll(shuffled)] as [KeptRecord, KeptRecord];
          expect(other.doc).toEqual(one.doc);
          for (const field of Object.keys(one.doc)) expect(stampOf(other, field)).toEqual(stampOf(one, field));
        },
      ),
    );
  });

  it('has of each field what the newest report says that says anything, and says whose it is', () => {
    fc.assert(
      fc.property(reports, (list) => {
        const kept = mergeAll(list) as KeptRecord;
        for (const field of ['name', 'title', 'mobile', 'skills', 'city']) {
          const newest = [...list].sort(([, a], [, b]) => b - a).find(([incoming]) => !['', null, undefined].includes(incoming[field] as string) && !(Array.isArray(incoming[field]) && incoming[field].length === 0));
          expect(kept.doc[field]).toEqual(newest?.[0][field]);
          if (newest !== undefined) expect(stampOf(kept, field)).toEqual([newest[1] % 3, newest[1]]);
        }
      }),
    );
  });

  it('has nothing to write for a report that is there already', () => {
    fc.assert(
      fc.property(reports, (list) => {
        const kept = mergeAll(list);
        const sorted = [...list].sort(([, a], [, b]) => b - a)[0] as readonly [Record<string, unknown>, number];
        expect(merge(kept, sorted[0], from(sorted[1]))).toEqual({ record: kept, change: 'same' });
      }),
    );
  });

  it('keeps the id under which a record is known', () => {
    const kept = merge(null, { id: 'a', name: 'x' }, from(1)).record;
    expect(merge(kept, { id: 'b', name: 'y' }, from(2)).record.doc).toEqual({ id: 'a', name: 'y' });
  });
});

describe("a person's name", () => {
  const called = (...rows: readonly Record<string, string>[]): string | null => {
    let kept: KeptRecord | null = null;
    for (const [index, row] of rows.entries()) kept = mergePerson(kept, { id: 'a', ...row }, from(index + 1)).record;
    return kept === null ? null : nameOf(kept.doc);
  };

  it.each<[string, readonly Record<string, string>[], string]>([
    ['a first name alone takes nothing from it', [{ name: 'Ana Ruiz' }, { first_name: 'Ana' }], 'Ana Ruiz'],
    ['nor a last name alone', [{ name: 'Ana María Ruiz' }, { last_name: 'Ruiz' }], 'Ana María Ruiz'],
    ['both of them name somebody whole', [{ name: 'Ana Ruiz' }, { first_name: 'Ana', last_name: 'Gómez' }], 'Ana Gómez'],
    ['also one after the other', [{ name: 'Ana Ruiz' }, { first_name: 'Ana' }, { last_name: 'Gómez' }], 'Ana Gómez'],
    ['a newer name replaces all', [{ first_name: 'Ana', last_name: 'Ruiz' }, { name: 'Ana Gómez' }], 'Ana Gómez'],
    ['parts make it where nobody gave it', [{ first_name: 'Ana' }, { last_name: 'Ruiz' }], 'Ana Ruiz'],
    ['and the newer part counts', [{ first_name: 'Ana', last_name: 'Ruiz' }, { last_name: 'Gómez' }], 'Ana Gómez'],
    ['of one row the name counts', [{ name: 'Ana María Ruiz', first_name: 'Ana', last_name: 'Ruiz' }], 'Ana María Ruiz'],
    ['half a name is better than none', [{ first_name: 'Ana' }], 'Ana'],
  ])('%s', (_what, rows, name) => {
    expect(called(...rows)).toBe(name);
  });

  it('comes to the same in whatever order the reports arrive, and a report that is there already changes nothing', () => {
    const part = fc.option(fc.integer({ min: 1, max: 3 }).map(String), { nil: '' });
    const rows = fc.uniqueArray(fc.tuple(fc.record({ name: part, first_name: part, last_name: part }), fc.integer({ min: 1, max: 50 })), { selector: ([, atMs]) => atMs, minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(rows.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))), ([list, shuffled]) => {
        const all = (some: typeof list, first: KeptRecord | null = null): KeptRecord => some.reduce<KeptRecord | null>((kept, [row, atMs]) => mergePerson(kept, row, from(atMs)).record, first) as KeptRecord;
        const one = all(list);
        expect(all(shuffled).doc).toEqual(one.doc);
        for (const field of Object.keys(one.doc)) expect(stampOf(all(shuffled), field)).toEqual(stampOf(one, field));
        for (const [row, atMs] of shuffled) expect(mergePerson(one, row, from(atMs))).toEqual({ record: one, change: 'same' });
      }),
      { numRuns: casesOf(75, 300) },
    );
  });
});

describe('what belongs together in a person', () => {
  type Row = readonly [record: Record<string, unknown>, atMs: number, learntMs: number | null, isDerived: boolean];
  const COMPANIES: Readonly<Record<string, string>> = { 'a.example': 'Acme', 'b.example': 'Bobs' };
  const maybe = <T>(...values: T[]): fc.Arbitrary<T | ''> => fc.constantFrom<T | ''>('', ...values);
  const fields = fc.record({
    email: maybe('x@a.example', 'y@b.example', 'z@home.example'), email_status: maybe('verified', 'bounced'), email_confidence: fc.constantFrom<unknown>('', 1, 2), mobile: maybe('+12125550100', '+12125550101'),
    name: maybe('Ada A', 'Ada B'), first_name: maybe('Ada'), last_name: maybe('A', 'C'), title: maybe('CTO', 'CEO'),
    emails: fc.constantFrom<unknown>('', ['x@a.example'], [{ email: 'w@a.example', type: 'work', status: null }]), phones: fc.constantFrom<unknown>('', [{ number: '+12125550101', type: 'mobile' }]),
  });
  // As contacts come: with the domain of where they work, given or derived, or a name alone.
  const employer = fc.constantFrom<readonly [Record<string, string>, boolean]>([{}, false], [{ company_domain: 'a.example' }, false], [{ company_domain: 'b.example' }, false], [{ company_domain: 'a.example' }, true], [{ company_domain: 'c.example' }, true], [{ company_name: 'ACME' }, false], [{ company_name: 'Bobs' }, false]);
  const row: fc.Arbitrary<Row> = fc.tuple(fields, employer, fc.integer({ min: 1, max: 500 }), fc.option(fc.integer({ min: 1, max: 500 }))).map(([record, [works, isDerived], atMs, learnt]) => [{ id: 'pe_1', ...record, ...works }, 2 * atMs, learnt === null ? null : 2 * learnt + 1, isDerived]);
  const rows = fc.uniqueArray(row, { selector: ([, atMs, learntMs]) => `${atMs} ${learntMs}`, minLength: 1, maxLength: 6 })
    .filter((list) => new Set(list.flatMap(([, atMs, learntMs]) => [atMs, ...(learntMs === null ? [] : [learntMs])])).size === list.reduce((sum, [, , learntMs]) => sum + (learntMs === null ? 1 : 2), 0));
  const put = (kept: KeptRecord | null, [record, atMs, learntMs, isEmployerDerived]: Row): ReturnType<typeof mergePerson> => mergePerson(kept, record, from(atMs), { learntMs, isEmployerDerived }, (domain) => COMPANIES[domain] ?? null);
  const all = (list: readonly Row[]): KeptRecord => list.reduce<KeptRecord | null>((kept, one) => put(kept, one).record, null) as KeptRecord;
  const newest = (list: readonly Row[], field: string): unknown => [...list].sort(([, a], [, b]) => b - a).find(([record]) => record[field] !== '' && record[field] !== undefined)?.[0][field];

  it('comes to the same in whatever order rows arrive that differ in addresses, names, times and employers, and a row that comes again changes nothing', () => {
    fc.assert(
      fc.property(rows.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))), ([list, shuffled]) => {
        const [one, other] = [all(list), all(shuffled)];
        expect(other.doc).toEqual(one.doc);
        for (const field of Object.keys(one.doc)) if (field !== 'id') expect([field, stampOf(other, field)]).toEqual([field, stampOf(one, field)]);
        expect([other.base, other.aside]).toEqual([one.base, one.aside]);
        for (const again of shuffled) expect(put(one, again)).toEqual({ record: one, change: 'same' });
        // From another source, too: what is of the same time is no news.
        for (const [record, atMs, learntMs, isEmployerDerived] of shuffled) expect(mergePerson(one, record, { source: 7, atMs }, { learntMs, isEmployerDerived }, (domain) => COMPANIES[domain] ?? null).change).toBe('same');
      }),
      { numRuns: casesOf(600, 3_000) },
    );
  });

  it('forgets no address and no mobile number, claims no verdict of another address, and has an employer that one row named', () => {
    fc.assert(
      fc.property(rows, (list) => {
        const { doc } = all(list);
        expect(doc['email']).toEqual(newest(list, 'email'));
        const told = (field: string): unknown[] => list.map(([record]) => record[field]).filter((value) => value !== '');
        if (list.length > 1) expect(addressesOf(doc)).toEqual(expect.arrayContaining(told('email')));
        if (list.length > 1) expect(numbersOf(doc, 'mobile')).toEqual(expect.arrayContaining(told('mobile')));
        const ofIt = list.filter(([record]) => record['email'] === (doc['email'] ?? ''));
        for (const field of ['email_status', 'email_confidence']) if (doc[field] !== undefined) expect(ofIt.map(([record]) => record[field])).toContain(doc[field]);
        const given = list.filter(([record, , , isDerived]) => !isDerived && (record['company_domain'] ?? record['company_name']) !== undefined);
        if (given.length > 0) expect(given.map(([record]) => record['company_domain'] ?? record['company_name'])).toContain(doc['company_domain'] ?? doc['company_name']);
        expect([doc['company_domain'], doc['company_name']]).toContain(undefined);
      }),
      { numRuns: casesOf(250, 1_000) },
    );
  });
});
