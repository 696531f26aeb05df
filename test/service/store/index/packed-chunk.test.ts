import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { CHUNK, pack, unpack } from '../../../../src/service/store/index/packed-chunk.ts';

const DAY = 86_400_000;
const some = fc.oneof(
  fc.array(fc.oneof(fc.constant(NaN), fc.integer({ min: -5, max: 300 })), { minLength: 1, maxLength: 40 }),
  fc.array(
    fc.oneof(
      fc.constant(NaN),
      fc.integer({ min: -100, max: 30_000 }).map((day) => day * DAY),
    ),
    { minLength: 1, maxLength: 40 },
  ),
  fc.array(fc.oneof(fc.constant(NaN), fc.maxSafeNat()), { minLength: 1, maxLength: 40 }),
  fc.array(fc.integer({ min: 0, max: 2 ** 32 }), { minLength: 1, maxLength: 40 }),
);

describe('packing a chunk', () => {
  it('a packed chunk returns its numbers, and its least and greatest', () => {
    fc.assert(
      fc.property(some, fc.nat(CHUNK - 41), (given, from) => {
        const numbers = new Float64Array(CHUNK).fill(NaN);
        numbers.set(given, from);
        const packed = pack(numbers);
        const known = given.filter((number) => !Number.isNaN(number));
        if (packed === null) {
          expect(known).toEqual([]);
          return;
        }
        expect([packed.least, packed.most]).toEqual([Math.min(...known), Math.max(...known)]);
        const again = new Float64Array(CHUNK);
        unpack(packed, again);
        expect(again).toEqual(numbers);
        // Unaligned, as a blob may be.
        const elsewhere = new Uint8Array(packed.codes.length + 3);
        elsewhere.set(packed.codes, 3);
        unpack({ ...packed, codes: elsewhere.subarray(3) }, again);
        expect(again).toEqual(numbers);
      }),
    );
  });

  it('a packed chunk takes as few bytes as the greatest distance needs', () => {
    const bytes = (...given: readonly number[]): number | undefined => {
      const numbers = new Float64Array(CHUNK).fill(NaN);
      numbers.set(given);
      return pack(numbers)?.codes.length;
    };
    const day = Date.parse('2026-06-15');
    expect(
      [
        bytes(7, 7 + 253),
        bytes(0, 255),
        bytes(day, day - 1_000 * DAY),
        bytes(day, day - 1_000 * DAY - 1_000),
        bytes(day, day - 1_000 * DAY - 1),
      ].map((size) => (size ?? 0) / CHUNK),
    ).toEqual([1, 2, 2, 4, 8]);
  });
});
