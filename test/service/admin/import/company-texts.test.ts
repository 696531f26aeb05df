import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { parseObject } from '../../../../src/formats/jsonl/jsonl-records.ts';
import { CompanyTexts, isShared } from '../../../../src/service/admin/import/company-texts.ts';
import { casesOf } from '../../../support/sample.ts';

const value = fc.oneof(
  fc.constantFrom('Acme', ',"company":{', '{', '}', '\\', '"', 7, null),
  fc.array(fc.constantFrom('a', 1), { maxLength: 2 }),
);
const company = fc.dictionary(
  fc.constantFrom('name', 'domain', 'company', '__proto__'),
  fc.oneof(value, fc.record({ company: fc.object() })),
);
const row = fc.dictionary(
  fc.constantFrom('email', 'company', 'employment_history', '__proto__'),
  fc.oneof(value, company, fc.array(fc.record({ company }), { maxLength: 2 })),
);
const whole = fc.tuple(row, company).map(([before, at]) => `${JSON.stringify(before).slice(0, -1)},"company":${JSON.stringify(at)}}`);
/** Valid and damaged rows. */
const text = fc
  .tuple(whole, fc.option(fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom('', ' ', '}', ']', '{', ',', '"'))))
  .map(([given, damage]) => {
    if (damage === null) return given;
    const [at, length, other] = damage;
    const from = at % given.length;
    return given.slice(0, from) + other + given.slice(from + length);
  });

it('a row is parsed as JSON says, whatever company it ends with, and whether it is valid or not', () => {
  const texts = new CompanyTexts();
  fc.assert(
    fc.property(text, (given) => {
      const expected = JSON.stringify(parseObject(given));
      expect(JSON.stringify(texts.parse(given))).toBe(expected);
      // The second time the company is known.
      expect(JSON.stringify(texts.parse(given))).toBe(expected);
    }),
    { numRuns: casesOf(600, 20_000) },
  );
});

it('rows that end with the same company share its object', () => {
  const texts = new CompanyTexts();
  const read = (json: string): unknown => (texts.parse(json) as Record<string, unknown>)['company'];
  const first = read('{"email":"ada@acme.example","company":{"name":"Acme"}}');
  expect(read('{"email":"bo@acme.example","company":{"name":"Acme"}}')).toBe(first);
  expect(isShared(first as object)).toBe(true);
  const other = read('{"company":{"name":"Acme"},"email":"cy@acme.example"}');
  expect(other).not.toBe(first);
  expect(isShared(other as object)).toBe(false);
});
