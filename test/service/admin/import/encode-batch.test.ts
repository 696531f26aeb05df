import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { encodeBatch, decodeBatch } from '../../../../src/service/admin/import/encode-batch.ts';
import type { NormalisedRow } from '../../../../src/service/admin/import/normalise-rows.ts';
import type { NormalisedCompany } from '../../../../src/service/store/rows/normalised-company.ts';
import type { NormalisedPerson } from '../../../../src/service/store/rows/normalised-person.ts';

const text = fc.constantFrom('ada', 'Ада', '', '+12125550100');
const textOrNull = fc.option(text);
const number = fc.integer({ min: -1, max: 2 ** 44 });
const numberOrNull = fc.option(fc.oneof(number, fc.constantFrom(0.5, -86_400_000)));
const list = fc.array(text, { maxLength: 2 });
const spans = { from: number, to: number, textFrom: number, textTo: number, atMs: number };

const person: fc.Arbitrary<NormalisedPerson> = fc.record({
  email: textOrNull,
  profile: textOrNull,
  id: textOrNull,
  name: textOrNull,
  domain: textOrNull,
  mobile: textOrNull,
  nameKey: text,
  status: textOrNull,
  verifiedMs: numberOrNull,
  rank: number,
  absentFields: numberOrNull,
  verdictMs: numberOrNull,
  isEmployerDerived: fc.boolean(),
  newId: text,
  others: list,
  mobiles: list,
  otherNumbers: list,
  isTooLarge: fc.boolean(),
  dropped: list,
  ...spans,
});
const company: fc.Arbitrary<NormalisedCompany> = fc.record({
  country: textOrNull,
  industry: textOrNull,
  emailPattern: textOrNull,
  domain: text,
  id: textOrNull,
  newId: text,
  acceptsAll: fc.constantFrom(0, 1, null),
  employees: numberOrNull,
  absentFields: number,
  report: number,
  namesAliases: fc.boolean(),
  isTooLarge: fc.boolean(),
  dropped: list,
  ...spans,
});
const line = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const row: fc.Arbitrary<NormalisedRow> = fc.oneof(
  fc.record({ line, kind: fc.constant('contact' as const), person, company: fc.option(company) }),
  fc.record({ line, kind: fc.constantFrom('company' as const, 'employer' as const), company }),
  fc.record({ line, kind: fc.constant('refused' as const), refusal: fc.record({ code: text, detail: text }) }),
  fc.record({ line, kind: fc.constant('skipped' as const) }),
  fc.record({ line, kind: fc.constant('signal' as const), signal: fc.dictionary(text, textOrNull) }),
);
const terms = fc.array(text).map((some) => ({ terms: some, numbers: Uint32Array.from(some.keys()) }));

it('a batch is unchanged after the transfer between threads, and its buffers are moved without a copy', () => {
  fc.assert(
    fc.property(fc.array(row, { maxLength: 12 }), terms, terms, (rows, personTerms, companyTerms) => {
      const batch = {
        rows,
        surplus: rows.map((one) => one.line),
        unknown: [{ name: 'a note', count: 2, line: 3 }],
        personTerms,
        companyTerms,
        texts: Uint8Array.of(123, 125),
        size: rows.length,
      };
      const before = structuredClone(batch);
      const { message, moved } = encodeBatch(batch);
      expect(decodeBatch(structuredClone(message, { transfer: moved }))).toEqual(before);
      expect(batch.texts).toHaveLength(0);
    }),
    { numRuns: 1_000 },
  );
});
