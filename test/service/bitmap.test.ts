import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BLOCK, changeBlock, emptyBits, numbersIn, readBlock } from '../../src/service/search/bitmap.ts';

/** Numbers that lie close together, so that some come again, and some that lie anywhere. */
const number = fc.oneof(fc.nat(40), fc.nat(BLOCK - 1));
const change = fc.oneof(number, number.map((n) => -1 - n));
/** As new rows come: each behind the one before. */
const rows = fc.tuple(fc.nat(BLOCK - 6_000), fc.integer({ min: 1, max: 6_000 })).map(([from, count]) => Array.from({ length: count }, (_, index) => from + index));
/** Nearly so: what is there already comes again. */
const again = fc.array(fc.nat(40), { maxLength: 6 }).map((list) => list.sort((one, other) => one - other));

function numbersOf(kept: Uint8Array | null): number[] {
  const bits = emptyBits(BLOCK);
  if (kept !== null) readBlock(kept, 0, bits);
  return [...numbersIn(bits)];
}

describe('changing a kept block', () => {
  it('leaves the numbers that a set would have, in the form that the same numbers always have', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(rows, again, fc.array(change, { maxLength: 60 })), { maxLength: 5 }), (steps) => {
        const model = new Set<number>();
        let kept: Uint8Array | null = null;
        for (const step of steps) {
          kept = changeBlock(kept, step);
          for (const n of step) {
            if (n < 0) model.delete(-1 - n);
            else model.add(n);
          }
        }
        const numbers = [...model].sort((one, other) => one - other);
        expect(numbersOf(kept)).toEqual(numbers);
        // In one go, from the last to the first: nothing to lengthen.
        expect(kept).toEqual(changeBlock(null, numbers.toReversed()));
      }),
      { numRuns: 60 },
    );
  });
});
