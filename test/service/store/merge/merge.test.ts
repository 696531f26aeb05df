import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { mergePerson } from '../../../../src/service/store/merge/merge-person.ts';
import { fullName } from '../../../../src/service/records/person-name.ts';
import { addressesOf } from '../../../../src/service/store/identity/other-addresses.ts';
import { numbersOf } from '../../../../src/service/store/identity/other-numbers.ts';
import { merge, stampOf, type MergedRecord, type Provenance } from '../../../../src/service/store/merge/merge.ts';
import { casesOf } from '../../../support/sample.ts';

const record = fc.dictionary(
  fc.constantFrom('name', 'title', 'mobile', 'skills', 'city'),
  fc.oneof(fc.constantFrom('', null), fc.integer({ min: 1, max: 3 }), fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 2 })),
  { maxKeys: 5 },
);
/** Reports of one record, each with a different time: equal times have no order. */
const reports = fc.uniqueArray(fc.tuple(record, fc.integer({ min: 1, max: 1_000 })), {
  selector: ([, atMs]) => atMs,
  minLength: 1,
  maxLength: 6,
});

function mergeAll(list: readonly (readonly [Record<string, unknown>, number])[]): MergedRecord | null {
  let stored: MergedRecord | null = null;
  for (const [incoming, atMs] of list) stored = merge(stored, incoming, from(atMs)).record;
  return stored;
}

const from = (atMs: number): Provenance => ({ source: atMs % 3, atMs });

describe('merging reports of a record', () => {
  it('a merge gives the same values and sources in any order of reports', () => {
    fc.assert(
      fc.property(
        reports.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, shuffled]) => {
          const [one, other] = [mergeAll(list), mergeAll(shuffled)] as [MergedRecord, MergedRecord];
          expect(other.doc).toEqual(one.doc);
          for (const field of Object.keys(one.doc)) expect(stampOf(other, field)).toEqual(stampOf(one, field));
        },
      ),
    );
  });

  it('a merge takes each field from the newest report that has it, and stores its source', () => {
    fc.assert(
      fc.property(reports, (list) => {
        const stored = mergeAll(list) as MergedRecord;
        for (const field of ['name', 'title', 'mobile', 'skills', 'city']) {
          const newest = [...list]
            .sort(([, a], [, b]) => b - a)
            .find(
              ([incoming]) =>
                !['', null, undefined].includes(incoming[field] as string) &&
                !(Array.isArray(incoming[field]) && incoming[field].length === 0),
            );
          expect(stored.doc[field]).toEqual(newest?.[0][field]);
          if (newest !== undefined) expect(stampOf(stored, field)).toEqual([newest[1] % 3, newest[1]]);
        }
      }),
    );
  });

  it('a repeated report writes nothing', () => {
    fc.assert(
      fc.property(reports, (list) => {
        const stored = mergeAll(list);
        const sorted = [...list].sort(([, a], [, b]) => b - a)[0] as readonly [Record<string, unknown>, number];
        expect(merge(stored, sorted[0], from(sorted[1]))).toEqual({ record: stored, change: 'same' });
      }),
    );
  });

  it('a merge never changes the id of a record', () => {
    const stored = merge(null, { id: 'a', name: 'x' }, from(1)).record;
    expect(merge(stored, { id: 'b', name: 'y' }, from(2)).record.doc).toEqual({ id: 'a', name: 'y' });
  });
});

describe("a person's name", () => {
  const called = (...rows: readonly Record<string, string>[]): string | null => {
    let stored: MergedRecord | null = null;
    for (const [index, row] of rows.entries()) stored = mergePerson(stored, { id: 'a', ...row }, from(index + 1)).record;
    return stored === null ? null : fullName(stored.doc);
  };

  it.each<[string, readonly Record<string, string>[], string]>([
    ['a first name alone leaves a complete name', [{ name: 'Ana Ruiz' }, { first_name: 'Ana' }], 'Ana Ruiz'],
    ['a last name alone leaves a complete name', [{ name: 'Ana María Ruiz' }, { last_name: 'Ruiz' }], 'Ana María Ruiz'],
    ['both parts replace a complete name', [{ name: 'Ana Ruiz' }, { first_name: 'Ana', last_name: 'Gómez' }], 'Ana Gómez'],
    [
      'two newer rows with one part each replace a complete name',
      [{ name: 'Ana Ruiz' }, { first_name: 'Ana' }, { last_name: 'Gómez' }],
      'Ana Gómez',
    ],
    ['a newer name replaces both parts', [{ first_name: 'Ana', last_name: 'Ruiz' }, { name: 'Ana Gómez' }], 'Ana Gómez'],
    ['the name is built from its parts', [{ first_name: 'Ana' }, { last_name: 'Ruiz' }], 'Ana Ruiz'],
    ['the newer part counts', [{ first_name: 'Ana', last_name: 'Ruiz' }, { last_name: 'Gómez' }], 'Ana Gómez'],
    ['the name of a row outranks its parts', [{ name: 'Ana María Ruiz', first_name: 'Ana', last_name: 'Ruiz' }], 'Ana María Ruiz'],
    ['half a name is better than none', [{ first_name: 'Ana' }], 'Ana'],
  ])('%s', (_what, rows, name) => {
    expect(called(...rows)).toBe(name);
  });

  it('a person’s name is the same in any order of reports, and repeated reports change nothing', () => {
    const part = fc.option(fc.integer({ min: 1, max: 3 }).map(String), { nil: '' });
    const rows = fc.uniqueArray(fc.tuple(fc.record({ name: part, first_name: part, last_name: part }), fc.integer({ min: 1, max: 50 })), {
      selector: ([, atMs]) => atMs,
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(
        rows.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, shuffled]) => {
          const all = (some: typeof list, first: MergedRecord | null = null): MergedRecord =>
            some.reduce<MergedRecord | null>((stored, [row, atMs]) => mergePerson(stored, row, from(atMs)).record, first) as MergedRecord;
          const one = all(list);
          expect(all(shuffled).doc).toEqual(one.doc);
          for (const field of Object.keys(one.doc)) expect(stampOf(all(shuffled), field)).toEqual(stampOf(one, field));
          for (const [row, atMs] of shuffled) expect(mergePerson(one, row, from(atMs))).toEqual({ record: one, change: 'same' });
        },
      ),
      { numRuns: casesOf(75, 300) },
    );
  });
});

describe('fields of a person that depend on each other', () => {
  type Row = readonly [record: Record<string, unknown>, atMs: number, verdictMs: number | null, isDerived: boolean];
  const COMPANIES: Readonly<Record<string, string>> = { 'a.example': 'Acme', 'b.example': 'Bobs' };
  const maybe = <T>(...values: T[]): fc.Arbitrary<T | ''> => fc.constantFrom<T | ''>('', ...values);
  const fields = fc.record({
    email: maybe('x@a.example', 'y@b.example', 'z@home.example'),
    email_status: maybe('verified', 'bounced'),
    email_confidence: fc.constantFrom<unknown>('', 1, 2),
    mobile: maybe('+12125550100', '+12125550101'),
    name: maybe('Ada A', 'Ada B'),
    first_name: maybe('Ada'),
    last_name: maybe('A', 'C'),
    title: maybe('CTO', 'CEO'),
    emails: fc.constantFrom<unknown>('', ['x@a.example'], [{ email: 'w@a.example', type: 'work', status: null }]),
    phones: fc.constantFrom<unknown>('', [{ number: '+12125550101', type: 'mobile' }]),
  });
  // Realistic contacts: with an employer's domain, given or derived, or with a company name alone.
  const employer = fc.constantFrom<readonly [Record<string, string>, boolean]>(
    [{}, false],
    [{ company_domain: 'a.example' }, false],
    [{ company_domain: 'b.example' }, false],
    [{ company_domain: 'a.example' }, true],
    [{ company_domain: 'c.example' }, true],
    [{ company_name: 'ACME' }, false],
    [{ company_name: 'Bobs' }, false],
  );
  const row: fc.Arbitrary<Row> = fc
    .tuple(fields, employer, fc.integer({ min: 1, max: 500 }), fc.option(fc.integer({ min: 1, max: 500 })))
    .map(([record, [works, isDerived], atMs, verdictTime]) => [
      { id: 'pe_1', ...record, ...works },
      2 * atMs,
      verdictTime === null ? null : 2 * verdictTime + 1,
      isDerived,
    ]);
  const rows = fc
    .uniqueArray(row, { selector: ([, atMs, verdictMs]) => `${atMs} ${verdictMs}`, minLength: 1, maxLength: 6 })
    .filter(
      (list) =>
        new Set(list.flatMap(([, atMs, verdictMs]) => [atMs, ...(verdictMs === null ? [] : [verdictMs])])).size ===
        list.reduce((sum, [, , verdictMs]) => sum + (verdictMs === null ? 1 : 2), 0),
    );
  const put = (stored: MergedRecord | null, [record, atMs, verdictMs, isEmployerDerived]: Row): ReturnType<typeof mergePerson> =>
    mergePerson(stored, record, from(atMs), { verdictMs, isEmployerDerived }, (domain) => COMPANIES[domain] ?? null);
  const all = (list: readonly Row[]): MergedRecord =>
    list.reduce<MergedRecord | null>((stored, one) => put(stored, one).record, null) as MergedRecord;
  const newest = (list: readonly Row[], field: string): unknown =>
    [...list].sort(([, a], [, b]) => b - a).find(([record]) => record[field] !== '' && record[field] !== undefined)?.[0][field];

  it('rows merge to the same record in any order, and repeated rows change nothing', () => {
    fc.assert(
      fc.property(
        rows.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, shuffled]) => {
          const [one, other] = [all(list), all(shuffled)];
          expect(other.doc).toEqual(one.doc);
          for (const field of Object.keys(one.doc))
            if (field !== 'id') expect([field, stampOf(other, field)]).toEqual([field, stampOf(one, field)]);
          expect([other.base, other.mergeState]).toEqual([one.base, one.mergeState]);
          for (const again of shuffled) expect(put(one, again)).toEqual({ record: one, change: 'same' });
          // With another source too: a report of the same time is not newer.
          for (const [record, atMs, verdictMs, isEmployerDerived] of shuffled)
            expect(
              mergePerson(one, record, { source: 7, atMs }, { verdictMs, isEmployerDerived }, (domain) => COMPANIES[domain] ?? null).change,
            ).toBe('same');
        },
      ),
      { numRuns: casesOf(600, 3_000) },
    );
  });

  it('a merge keeps every address and mobile number, each verdict with its address, and an employer of one row', () => {
    fc.assert(
      fc.property(rows, (list) => {
        const { doc } = all(list);
        expect(doc['email']).toEqual(newest(list, 'email'));
        const told = (field: string): unknown[] => list.map(([record]) => record[field]).filter((value) => value !== '');
        if (list.length > 1) expect(addressesOf(doc)).toEqual(expect.arrayContaining(told('email')));
        if (list.length > 1) expect(numbersOf(doc, 'mobile')).toEqual(expect.arrayContaining(told('mobile')));
        const ofIt = list.filter(([record]) => record['email'] === (doc['email'] ?? ''));
        for (const field of ['email_status', 'email_confidence'])
          if (doc[field] !== undefined) expect(ofIt.map(([record]) => record[field])).toContain(doc[field]);
        const given = list.filter(
          ([record, , , isDerived]) => !isDerived && (record['company_domain'] ?? record['company_name']) !== undefined,
        );
        if (given.length > 0)
          expect(given.map(([record]) => record['company_domain'] ?? record['company_name'])).toContain(
            doc['company_domain'] ?? doc['company_name'],
          );
        expect([doc['company_domain'], doc['company_name']]).toContain(undefined);
      }),
      { numRuns: casesOf(250, 1_000) },
    );
  });
});
