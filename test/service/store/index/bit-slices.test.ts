import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { forEachSetBit, SLICED_FIELDS } from '../../../../src/service/store/index/bit-slices.ts';

it('the set bits of a stored number add up to it, and come from the lowest, each once', () => {
  const most = Math.max(...Object.values(SLICED_FIELDS).map(({ bits }) => bits));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.nat({ max: 2 ** 31 - 1 }),
        fc.maxSafeNat().map((n) => n % 2 ** most),
      ),
      (kept) => {
        const digits: number[] = [];
        forEachSetBit(kept, (digit) => digits.push(digit));
        expect(digits.reduce((sum, digit) => sum + 2 ** digit, 0)).toBe(kept);
        expect(digits).toEqual([...new Set(digits)].sort((one, other) => one - other));
      },
    ),
  );
});
