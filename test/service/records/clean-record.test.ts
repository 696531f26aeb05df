import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { cleanRecord } from '../../../src/service/records/clean-record.ts';
import type { SparseRecord } from '../../../src/service/records/whole-record.ts';
import { COMPANY, IMPORTED_COMPANY } from '../../../src/service/records/company-fields.ts';
import type { Field } from '../../../src/service/records/field.ts';
import { casesOf } from '../../support/sample.ts';

const FIELDS = ['hq', 'funding', 'hiring', 'headcount_growth', 'employees_by_department'] as const;
const value = fc.oneof(
  fc.constantFrom(null, '', 'Ulm', ' Ulm ', 7, 0.5, '1,200', true, [], ['Go'], {}),
  fc.record({ sales: fc.constantFrom(3, '3', null) }),
);
/** The object of a field: declared parts, with or without a value, and other members. */
const members = fc.constantFrom(...FIELDS).chain((field) => {
  const named = Object.keys((COMPANY[field] as Field).fields ?? {});
  return fc.tuple(
    fc.constant(field),
    fc.tuple(
      ...named.map((name) =>
        fc.tuple(fc.constant(name), fc.oneof({ weight: 5, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) })),
      ),
    ),
    fc.uniqueArray(fc.tuple(fc.constantFrom('Sales', 'x', '__proto__', '7'), value), { selector: ([name]) => name }),
  );
});
const objectOf = (entries: readonly (readonly [string, unknown])[]): SparseRecord =>
  Object.fromEntries(entries.filter(([, one]) => one !== undefined));

it('an object is cleaned to the same value in any order of its members', () => {
  fc.assert(
    fc.property(members, ([field, named, others]) => {
      const stored = [
        [...named, ...others],
        [...others, ...named.toReversed()],
      ].map((entries) => cleanRecord({ [field]: objectOf(entries) }, IMPORTED_COMPANY));
      expect(JSON.stringify(stored[0])).toBe(JSON.stringify(stored[1]));
      // A cleaned object stays unchanged.
      const again = cleanRecord(stored[0]?.record ?? {}, IMPORTED_COMPANY);
      expect(JSON.stringify(again.record)).toBe(JSON.stringify(stored[0]?.record));
    }),
    { numRuns: casesOf(800, 3_000) },
  );
});

it('cleaning a copy leaves the given record unchanged', () => {
  const given = { hq: { city: ' Ulm ', lat: '48.4' }, name: ' Acme ', employees: 'many', updated_at: '2026-01-01' };
  const before = JSON.stringify(given);
  expect(cleanRecord(given, IMPORTED_COMPANY)).toMatchObject({
    record: { name: 'Acme', hq: { city: 'Ulm', lat: 48.4 } },
    dropped: ['employees'],
  });
  expect(JSON.stringify(given)).toBe(before);
});
