import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { partBytes, reopenedParts } from '../../src/storage/part-sizes.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const sumOf = (parts: number): number => Array.from({ length: parts }, (_, i) => partBytes(i)).reduce((sum, bytes) => sum + bytes, 0);

it('parts are small as long as that suffices, and 10,000 of them hold the largest object of S3', () => {
  expect([partBytes(0), partBytes(999), partBytes(1_000)]).toEqual([8 * MIB, 8 * MIB, 16 * MIB]);
  expect(sumOf(3_000)).toBeGreaterThan(54 * GIB);
  expect(partBytes(2_999)).toBe(32 * MIB);
  expect(sumOf(10_000)).toBeGreaterThan(5 * 1024 * GIB);
});

it('a finished object is gone on from in ranges that S3 copies: one after the other, not too small, not too large, not too many', () => {
  fc.assert(
    fc.property(fc.oneof(fc.integer({ min: 1, max: 300 * MIB }), fc.integer({ min: 1, max: 5 * 1024 * GIB })), (size) => {
      const parts = reopenedParts(size);
      const ends = parts.map(({ at, bytes }) => at + bytes);
      expect(parts.every(({ at }, i) => at === (ends[i - 1] ?? 0))).toBe(true);
      expect(ends.at(-1)).toBe(size);
      expect(parts.length).toBeLessThanOrEqual(4_000);
      expect(parts.every(({ bytes }, i) => bytes <= 5 * GIB && (i === parts.length - 1 || bytes > 5 * MIB))).toBe(true);
    }),
  );
});
