import { expect, it } from 'vitest';
import { sizeRange, usdRange } from '../../../src/service/records/parse-range.ts';

it.each([
  ['11-50', 11, 50],
  ['1,001 - 5,000', 1_001, 5_000],
  ['51 to 200', 51, 200],
  ['10,000+', 10_000, Infinity],
  ['over 500', 500, Infinity],
  ['1K–5K', 1_000, 5_000],
  ['1-5K', 1_000, 5_000],
  ['500-1K', 500, 1_000],
  ['< 10', 0, 10],
  [12, 12, 12],
  ['12', 12, 12],
])('the headcount %s is parsed', (text, least, most) => {
  expect(sizeRange(text)).toEqual({ least, most });
});

it.each([
  ['$1M-$5M', 1e6, 5e6],
  ['$1-5M', 1e6, 5e6],
  ['$500K - $1M', 5e5, 1e6],
  ['$1 million to $5 million', 1e6, 5e6],
  ['$1000M+', 1e9, Infinity],
  ['under $1M', 0, 1e6],
  [12_000_000, 12e6, 12e6],
])('the revenue %s is parsed', (text, least, most) => {
  expect(usdRange(text)).toEqual({ least, most });
});

it('an amount in another currency is rejected', () => {
  expect(usdRange('€1M-€5M')).toBeNull();
});

it('a single amount means every amount with the same format', () => {
  expect(usdRange('$12M')?.least).toBeLessThan(11_500_001);
  expect(usdRange('$12M')?.most).toBeGreaterThan(12_499_999);
});

it.each([['many'], ['50-11'], ['1-2-3'], [null], [{}], ['-'.repeat(61)], ['']])('%s is not a range', (text) => {
  expect([sizeRange(text), usdRange(text)]).toEqual([null, null]);
});
