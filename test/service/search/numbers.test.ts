import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { forEachDigit, NUMBERS } from '../../../src/service/search/numbers.ts';

it('a kept number is the sum of its digits, which come from the lowest, each once', () => {
  const most = Math.max(...Object.values(NUMBERS).map(({ bits }) => bits));
  fc.assert(
    fc.property(fc.oneof(fc.nat({ max: 2 ** 31 - 1 }), fc.maxSafeNat().map((n) => n % 2 ** most)), (kept) => {
      const digits: number[] = [];
      forEachDigit(kept, (digit) => digits.push(digit));
      expect(digits.reduce((sum, digit) => sum + 2 ** digit, 0)).toBe(kept);
      expect(digits).toEqual([...new Set(digits)].sort((one, other) => one - other));
    }),
  );
});
