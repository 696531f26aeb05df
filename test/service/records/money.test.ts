import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { formatUsd, namesOtherCurrency, parseUsd, withCurrency } from '../../../src/service/records/money.ts';

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

it.each([
  ['$12M', 12e6],
  ['USD 12,000,000', 12e6],
  ['12M USD', 12e6],
  ['US$ 1.4 billion', 1.4e9],
  ['$3.000.000', 3e6],
  ['12,000,000 $', 12e6],
])('%s is %i dollars', (text, usd) => expect(parseUsd(text)).toBe(usd));

it.each(['€ 3.000.000', '3 Mio. €', 'EUR 12M', 'C$12M', 'A$ 5', 'CAD 5M', '12,000,000', '12M', '3000000', 'many', ''])(
  '%j is no amount in dollars: it names another currency, or none',
  (text) => expect(parseUsd(text)).toBeNull(),
);

it('a currency that is told is that of a number alone', () => {
  expect(['12,000,000', '3.5M', '€ 3M', '$5'].map((text) => withCurrency(text, 'eur'))).toEqual([
    'EUR 12,000,000',
    'EUR 3.5M',
    '€ 3M',
    '$5',
  ]);
  expect(parseUsd(withCurrency('12M', 'USD'))).toBe(12e6);
});

it('a number of another currency is known by its sign, its code or its dollar', () => {
  expect(['€3M', '3M EUR', 'C$3M', 'HK$ 3M', '¥3'].map(namesOtherCurrency)).toEqual([true, true, true, true, true]);
  expect(['$3M', '3M USD', 'US$ 3M', '3 mio', '3,000', '3 bn'].map(namesOtherCurrency)).toEqual([false, false, false, false, false, false]);
});
