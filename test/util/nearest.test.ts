import * as fc from '../support/fast-check.ts';
import { expect, test } from 'vitest';
import { editDistance, nearest } from '../../src/util/nearest.ts';

const word = fc.string({ maxLength: 12 });

test('the edit distance is 0 to the same word, symmetric, and at most the length of the longer word', () => {
  fc.assert(
    fc.property(word, word, (a, b) => {
      const distance = editDistance(a, b);
      expect(distance).toBe(editDistance(b, a));
      expect(distance === 0).toBe(a === b);
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      expect(distance).toBeGreaterThanOrEqual(Math.abs(a.length - b.length));
    }),
  );
});

test('one typing error has the distance 1', () => {
  expect([
    editDistance('input', 'inptu'),
    editDistance('input', 'inpt'),
    editDistance('input', 'innput'),
    editDistance('input', 'imput'),
  ]).toEqual([1, 1, 1, 1]);
});

test('the nearest candidate is suggested, and null when all are far away', () => {
  expect(nearest('inptu', ['output', 'input'])).toBe('input');
  expect(nearest('zebra', ['output', 'input'])).toBeNull();
  expect(nearest('', ['a'])).toBeNull();
  expect(nearest('x'.repeat(100_000), ['x'])).toBeNull();
});
