import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { companyTerms, NO_SIGNALS } from '../../../../src/service/store/index/terms.ts';

const termsOf = (sizes: Readonly<Record<string, unknown>>): readonly number[] =>
  companyTerms({ employees_by_department: sizes }, NO_SIGNALS);

it('equal names of departments count once, with the greatest size', () => {
  const size = fc.nat({ max: 100_000 });
  fc.assert(
    fc.property(size, size, size, (one, two, sales) => {
      const greatest = termsOf({ 'human resources': Math.max(one, two), sales });
      expect(termsOf({ 'Human Resources': one, human_resources: two, 'HUMAN-RESOURCES': 'many', sales })).toEqual(greatest);
    }),
  );
});

it('a company has the words of both its names, whichever is a prefix of the other', () => {
  // Characters that word splitting depends on: signs at the ends, combining marks, final sigmas, spaces.
  const name = fc.string({
    unit: fc.constantFrom('a', 'Z', '1', '.', '+', '#', '-', ' ', '\u00a0', '\t', '\u0301', '\u0345', 'Σ', 'σ', 'ß', 'İ', '\ufb01', '漢'),
  });
  const namesOf = (one: string, other: string): number[] =>
    [...new Set(companyTerms({ name: one, legal_name: other }, NO_SIGNALS))].sort((a, b) => a - b);
  fc.assert(
    fc.property(name, name, (short, more) => {
      expect(namesOf(short, `${short} ${more}`)).toEqual(namesOf(`${short} ${more}`, short));
    }),
    { numRuns: 2_000 },
  );
});

it('a department or a country with 0 open roles is not hiring, and neither is one of a signal with 0 openings', () => {
  const hiring = (by_department: object, by_country: object): readonly number[] =>
    companyTerms({ hiring: { by_department, by_country } }, NO_SIGNALS);
  expect(hiring({ engineering: 3, sales: 0 }, { DE: 0, FR: 1 })).toEqual(hiring({ engineering: 3 }, { FR: 1 }));
  expect(hiring({ engineering: 3, sales: 1 }, { FR: 1 })).not.toEqual(hiring({ engineering: 3 }, { FR: 1 }));
  const signal = { titles: ['Account Executive'], departments: ['sales'], locations: ['DE'] };
  const ofSignal = (openings: number): readonly number[] => companyTerms({}, { ...NO_SIGNALS, hiring: [{ ...signal, openings }] });
  expect(ofSignal(0)).toEqual(companyTerms({}, NO_SIGNALS));
  expect(ofSignal(2).length).toBeGreaterThan(ofSignal(0).length);
});
