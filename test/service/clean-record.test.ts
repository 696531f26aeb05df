import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cleanRecord } from '../../src/service/clean-record.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { COMPANY, IMPORTED_COMPANY } from '../../src/service/records/company.ts';
import type { Field } from '../../src/service/records/field.ts';
import { casesOf } from '../support/sample.ts';

const FIELDS = ['hq', 'funding', 'hiring', 'headcount_growth', 'employees_by_department'] as const;
const value = fc.oneof(fc.constantFrom(null, '', 'Ulm', ' Ulm ', 7, 0.5, '1,200', true, [], ['Go'], {}), fc.record({ sales: fc.constantFrom(3, '3', null) }));
/** Of a field's object: the parts that have a name, each with a value or without, and others. */
const members = fc.constantFrom(...FIELDS).chain((field) => {
  const named = Object.keys((COMPANY[field] as Field).fields ?? {});
  return fc.tuple(fc.constant(field), fc.tuple(...named.map((name) => fc.tuple(fc.constant(name), fc.oneof({ weight: 5, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) })))), fc.uniqueArray(fc.tuple(fc.constantFrom('Sales', 'x', '__proto__', '7'), value), { selector: ([name]) => name }));
});
const objectOf = (entries: readonly (readonly [string, unknown])[]): SparseRecord => Object.fromEntries(entries.filter(([, one]) => one !== undefined));

it('an object is kept the same whether its parts come in their order or not', () => {
  fc.assert(
    fc.property(members, ([field, named, others]) => {
      const kept = [[...named, ...others], [...others, ...named.toReversed()]].map((entries) => cleanRecord({ [field]: objectOf(entries) }, IMPORTED_COMPANY));
      expect(JSON.stringify(kept[0])).toBe(JSON.stringify(kept[1]));
      // What was cleaned is clean.
      const again = cleanRecord(kept[0]?.record ?? {}, IMPORTED_COMPANY);
      expect(JSON.stringify(again.record)).toBe(JSON.stringify(kept[0]?.record));
    }),
    { numRuns: casesOf(800, 3_000) },
  );
});

it('a record that is cleaned stays as it was given', () => {
  const given = { hq: { city: ' Ulm ', lat: '48.4' }, name: ' Acme ', employees: 'many', updated_at: '2026-01-01' };
  const before = JSON.stringify(given);
  expect(cleanRecord(given, IMPORTED_COMPANY)).toMatchObject({ record: { name: 'Acme', hq: { city: 'Ulm', lat: 48.4 } }, dropped: ['employees'] });
  expect(JSON.stringify(given)).toBe(before);
});
