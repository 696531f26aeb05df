import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { companyTerms, NO_SIGNALS } from '../../../src/service/search/terms.ts';

const termsOf = (sizes: Readonly<Record<string, unknown>>): readonly number[] => companyTerms({ employees_by_department: sizes }, NO_SIGNALS);

it('of departments that are alike counts the greatest, and no number of the digits of both', () => {
  const size = fc.nat({ max: 100_000 });
  fc.assert(
    fc.property(size, size, size, (one, two, sales) => {
      const greatest = termsOf({ 'human resources': Math.max(one, two), sales });
      expect(termsOf({ 'Human Resources': one, human_resources: two, 'HUMAN-RESOURCES': 'many', sales })).toEqual(greatest);
    }),
  );
});
