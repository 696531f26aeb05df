import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { formatUsd, parseUsd } from '../../../src/service/records/money.ts';

it('a formatted amount has at most three digits before its unit, and is within 5 % of the amount', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 14 }), fc.integer({ min: -60_000, max: 60_000 }), fc.nat(), (magnitude, away, some) => {
      // Around the limits of units, and anywhere.
      for (const usd of [Math.max(0, 10 ** magnitude + away), some]) {
        const text = formatUsd(usd);
        expect(text).toMatch(/^\$(?:\d\.\d|\d{1,3})[KM]?$|^\$(?:\d\.\d|\d+)B$/);
        expect(Math.abs((parseUsd(text) ?? NaN) - usd)).toBeLessThanOrEqual(usd / 20);
      }
    }),
    {
      numRuns: 2_000,
      examples: [
        [0, 0, 999_500],
        [0, 0, 999_499_999],
        [0, 0, 999_500_000],
        [0, 0, 999],
      ],
    },
  );
});

it.each([
  [80, '$80'],
  [950_000, '$950K'],
  [999_499, '$999K'],
  [999_500, '$1M'],
  [12_000_000, '$12M'],
  [999_999_999, '$1B'],
  [1_400_000_000, '$1.4B'],
  [5e14, '$500000B'],
])('%i dollars are formatted as %s', (usd, text) => expect(formatUsd(usd)).toBe(text));
