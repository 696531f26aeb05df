import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { cleanRecord } from '../../src/service/clean-record.ts';
import { COMPANY_TYPES } from '../../src/service/field-types.ts';
import { PARTS } from '../../src/service/part-types.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { casesOf } from '../support/sample.ts';

const FIELDS = ['hq', 'funding', 'hiring', 'headcount_growth', 'employees_by_department'] as const;
const value = fc.oneof(fc.constantFrom(null, '', 'Ulm', ' Ulm ', 7, 0.5, '1,200', true, [], ['Go'], {}), fc.record({ sales: fc.constantFrom(3, '3', null) }));
/** Of a field's object: the parts that have a name, each with a value or without, and others. */
const members = fc.constantFrom(...FIELDS).chain((field) => {
  const named = Object.keys(PARTS[field] ?? {}).filter((name) => name !== '*');
  return fc.tuple(fc.constant(field), fc.tuple(...named.map((name) => fc.tuple(fc.constant(name), fc.oneof({ weight: 5, arbitrary: value }, { weight: 1, arbitrary: fc.constant(undefined) })))), fc.uniqueArray(fc.tuple(fc.constantFrom('Sales', 'x', '__proto__', '7'), value), { selector: ([name]) => name }));
});
const objectOf = (entries: readonly (readonly [string, unknown])[]): SparseRecord => Object.fromEntries(entries.filter(([, one]) => one !== undefined));

it('an object is kept the same whether its parts come in their order or not', () => {
  fc.assert(
    fc.property(members, ([field, named, others]) => {
      const kept = [[...named, ...others], [...others, ...named.toReversed()]].map((entries) => cleanRecord({ [field]: objectOf(entries) }, COMPANY_TYPES));
      expect(JSON.stringify(kept[0])).toBe(JSON.stringify(kept[1]));
      // What was cleaned is clean.
      const again = cleanRecord(kept[0]?.record ?? {}, COMPANY_TYPES);
      expect(JSON.stringify(again.record)).toBe(JSON.stringify(kept[0]?.record));
    }),
    { numRuns: casesOf(800, 3_000) },
  );
});

it('a record that is cleaned stays as it was given', () => {
  const given = { hq: { city: ' Ulm ', lat: '48.4' }, name: ' Acme ', employees: 'many', updated_at: '2026-01-01' };
  const before = JSON.stringify(given);
  expect(cleanRecord(given, COMPANY_TYPES)).toMatchObject({ record: { name: 'Acme', hq: { city: 'Ulm', lat: 48.4 } }, dropped: ['employees'] });
  expect(JSON.stringify(given)).toBe(before);
});
