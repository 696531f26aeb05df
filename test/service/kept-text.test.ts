import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completer, namesIn } from '../../src/service/kept-text.ts';
import { RECORD_FIELDS } from '../../src/service/records.ts';
import { COMPANY_FIELDS } from '../../src/service/records/company.ts';

const FIELDS = ['id', 'name', 'title', 'location', 'skills', 'likelihood'] as const;
/** As the store keeps records: names without escapes, any values. */
const record = fc.dictionary(fc.constantFrom(...FIELDS.slice(0, 5), 'further'), fc.oneof(fc.jsonValue(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'é') })));

describe('kept texts', () => {
  it('names every member, whatever the values hold', () => {
    fc.assert(
      fc.property(record, (given) => {
        expect([...namesIn(JSON.stringify(given))]).toEqual(Object.keys(given));
      }),
    );
  });

  it('becomes a whole record: what is known, what is given, and null for the rest, whether what it lacks was kept or not', () => {
    const whole = completer([...FIELDS, 'company'], ['likelihood', 'company']);
    fc.assert(
      fc.property(record, fc.boolean(), (known, isKept) => {
        const given = { likelihood: 98, company: { name: 'Acme' } };
        const text = whole.complete(JSON.stringify(known), JSON.stringify(given).slice(1, -1), isKept ? whole.lacking(known) : null);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ ...Object.fromEntries(FIELDS.map((field) => [field, null])), ...known, ...given })));
      }),
    );
  });

  // A number that stands in a store tells fields by their places: one that is new comes last, or a migration sets all numbers to null.
  it.each([
    ['companies', COMPANY_FIELDS, 43, 'signals', 'updated_at'],
    ['people', RECORD_FIELDS, 46, 'verified', 'company'],
  ] as const)('knows the fields of %s by the same bits for ever', (_kind, fields, count, ...last) => {
    expect(fields.slice(0, count).slice(-2)).toEqual(last);
    expect(fields.length).toBeGreaterThanOrEqual(count);
    expect(fields.length).toBeLessThanOrEqual(53);
  });
});
