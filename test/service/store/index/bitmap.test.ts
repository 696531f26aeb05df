import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { BLOCK, updateBlock, emptyBitmap, rowsIn, addBlock } from '../../../../src/service/store/index/bitmap.ts';

/** Rows close together, so that some repeat, and rows anywhere. */
const number = fc.oneof(fc.nat(40), fc.nat(BLOCK - 1));
const change = fc.oneof(
  number,
  number.map((n) => -1 - n),
);
/** Ascending, as new rows arrive. */
const rows = fc
  .tuple(fc.nat(BLOCK - 6_000), fc.integer({ min: 1, max: 6_000 }))
  .map(([from, count]) => Array.from({ length: count }, (_, index) => from + index));
/** Ascending, with duplicates. */
const again = fc.array(fc.nat(40), { maxLength: 6 }).map((list) => list.sort((one, other) => one - other));

function numbersOf(stored: Uint8Array | null): number[] {
  const bits = emptyBitmap(BLOCK);
  if (stored !== null) addBlock(stored, 0, bits);
  return [...rowsIn(bits)];
}

describe('updating a stored block', () => {
  it('an updated block has the rows of a reference set, in a form that depends on the rows only', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(rows, again, fc.array(change, { maxLength: 60 })), { maxLength: 5 }), (steps) => {
        const model = new Set<number>();
        let stored: Uint8Array | null = null;
        for (const step of steps) {
          stored = updateBlock(stored, step);
          for (const n of step) {
            if (n < 0) model.delete(-1 - n);
            else model.add(n);
          }
        }
        const numbers = [...model].sort((one, other) => one - other);
        expect(numbersOf(stored)).toEqual(numbers);
        // In one step and descending, so that the fast path does not apply.
        expect(stored).toEqual(updateBlock(null, numbers.toReversed()));
      }),
      { numRuns: 60 },
    );
  });
});
