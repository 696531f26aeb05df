import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { copiedRanges, partBytes, reopenedParts } from '../../src/storage/part-sizes.ts';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;
const sumOf = (parts: number): number => Array.from({ length: parts }, (_, i) => partBytes(i)).reduce((sum, bytes) => sum + bytes, 0);

it('parts stay small as long as possible, and 10,000 of them hold the largest object of S3', () => {
  expect([partBytes(0), partBytes(999), partBytes(1_000)]).toEqual([8 * MIB, 8 * MIB, 16 * MIB]);
  expect(sumOf(3_000)).toBeGreaterThan(54 * GIB);
  expect(partBytes(2_999)).toBe(32 * MIB);
  expect(sumOf(10_000)).toBeGreaterThan(5 * 1024 * GIB);
});

it('a finished object is continued in ranges that S3 copies: consecutive, neither too small nor too large, and few', () => {
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

it('the end of another object is copied in valid parts; before it only the gap of the open part is uploaded', () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 20 * MIB }), fc.integer({ min: 1, max: 5 * 1024 * GIB }));
  fc.assert(
    fc.property(
      size,
      fc.integer({ min: 0, max: 100 }),
      fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 8 * MIB - 1 })),
      fc.integer({ min: 0, max: 9_000 }),
      (bytes, at, open, parts) => {
        const ranges = copiedRanges({ at, bytes }, open, parts);
        const uploaded = (ranges[0]?.at ?? at + bytes) - at;
        const needed = open === 0 ? 0 : Math.max(0, 5 * MIB + 1 - open);
        // Nothing is copied only if the copyable rest is too small.
        if (ranges.length === 0) return bytes - needed <= 5 * MIB;
        expect(uploaded).toBe(needed);
        const ends = ranges.map((range) => range.at + range.bytes);
        expect(
          ranges.every((range, i) => range.at === (ends[i - 1] ?? at + uploaded) && range.bytes > 5 * MIB && range.bytes <= 5 * GIB),
        ).toBe(true);
        return ends.at(-1) === at + bytes;
      },
    ),
  );
});

it('the largest object of S3 is copied in fewer parts than permitted, also when it arrives in many pieces', () => {
  expect(copiedRanges({ at: 0, bytes: 5 * 1024 * GIB }, 0, 0).length).toBeLessThan(7_000);
  let parts = 0;
  for (let i = 0; i < 500; i++) parts += 1 + copiedRanges({ at: 0, bytes: 10 * GIB }, 100, parts).length;
  expect(parts).toBeLessThan(8_000);
});
