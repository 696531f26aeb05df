import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completer, namesIn } from '../../src/service/kept-text.ts';

const FIELDS = ['id', 'name', 'title', 'location', 'skills', 'likelihood'] as const;
/** As the store keeps records: names without escapes, any values. */
const record = fc.dictionary(fc.constantFrom(...FIELDS.slice(0, 5), 'further'), fc.oneof(fc.jsonValue(), fc.string({ unit: fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', 'é') })));

describe('kept texts', () => {
  it('names every member, whatever the values hold', () => {
    fc.assert(
      fc.property(record, (given) => {
        expect(namesIn(JSON.stringify(given))).toEqual(Object.keys(given));
      }),
    );
  });

  it('becomes a whole record: what is known, what is added, and null for the rest', () => {
    const complete = completer(FIELDS);
    const more = { likelihood: '98', company: '{"name":"Acme"}' };
    fc.assert(
      fc.property(record, fc.boolean(), (given, withMore) => {
        const known = { ...given, ...(withMore ? { likelihood: 98, company: { name: 'Acme' } } : {}) };
        const text = complete(JSON.stringify(given), withMore ? more : {});
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify({ ...Object.fromEntries(FIELDS.map((field) => [field, null])), ...known })));
      }),
    );
  });
});
