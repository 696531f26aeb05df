import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { editDistance, nearest } from '../../../src/job/definition/nearest.ts';

const word = fc.string({ maxLength: 12 });

test('a distance: none to itself, the same both ways, at most the longer word', () => {
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

test('one slip costs one', () => {
  expect([editDistance('input', 'inptu'), editDistance('input', 'inpt'), editDistance('input', 'innput'), editDistance('input', 'imput')]).toEqual([1, 1, 1, 1]);
});

test('the nearest, and none where none is near', () => {
  expect(nearest('inptu', ['output', 'input'])).toBe('input');
  expect(nearest('zebra', ['output', 'input'])).toBeNull();
  expect(nearest('', ['a'])).toBeNull();
  expect(nearest('x'.repeat(100_000), ['x'])).toBeNull();
});
