import * as fc from '../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { emptyBitmap, setBit } from '../../../src/service/store/index/bitmap.ts';
import { nextBySize, type NextBySize } from '../../../src/service/search/companies-by-size.ts';

it('the next companies by size include all that tie with the last one, unless they are too many', () => {
  const number = fc.oneof(fc.nat(3), fc.nat(12), fc.nat(1_000));
  const any = fc.array(fc.record({ size: number, isAmong: fc.boolean() }), { maxLength: 200, size: 'max' });
  // Often many atCursor companies come first, so that pruning removes nothing.
  const alike = fc
    .tuple(fc.nat(100), fc.constantFrom(2, 900))
    .map(([length, size]) => Array.from({ length }, () => ({ size, isAmong: true })));
  const list = fc.oneof(
    any,
    fc.tuple(alike, any).map(([first, others]) => [...first, ...others]),
  );
  let tooMany = 0;
  fc.assert(
    fc.property(
      list,
      fc.option(number),
      fc.boolean(),
      fc.boolean(),
      fc.integer({ min: 1, max: 40 }),
      fc.oneof(fc.nat(20), fc.nat(300)),
      (companies, cursor, descending, areSome, count, more) => {
        const among = areSome ? emptyBitmap(companies.length) : null;
        if (among !== null) for (const [company, { isAmong }] of companies.entries()) if (isAmong) setBit(among, company);
        const sign = descending ? -1 : 1;
        const naive = (of: typeof companies): NextBySize => {
          const known = of.flatMap(({ size, isAmong }, company) => (size > 0 && (isAmong || !areSome) ? [{ company, size }] : []));
          const ahead = known
            .filter(({ size }) => cursor === null || sign * (size - cursor) > 0)
            .sort((one, other) => sign * (one.size - other.size));
          const last = ahead[Math.min(count, ahead.length) - 1]?.size ?? 0;
          const first = ahead.filter(({ size }) => sign * (size - last) <= 0).map(({ company }) => company);
          return {
            companies: first,
            atCursor: known.filter(({ size }) => size === cursor).map(({ company }) => company),
            isLast: first.length === ahead.length,
          };
        };
        const most = count + more;
        const areMore = (one: NextBySize): boolean => one.companies.length + one.atCursor.length > most;
        const found = nextBySize(
          Int32Array.from(companies, ({ size }) => size),
          { among, cursor, descending, count, most },
        );
        if (found === null) {
          tooMany++;
          expect(companies.some((_, last) => areMore(naive(companies.slice(0, last + 1))))).toBe(true);
          return;
        }
        const inOrder = (numbers: readonly number[]): number[] => [...numbers].sort((one, other) => one - other);
        const expected = naive(companies);
        expect({ ...found, companies: inOrder(found.companies) }).toEqual({ ...expected, companies: inOrder(expected.companies) });
        expect(areMore(expected)).toBe(false);
      },
    ),
    { numRuns: 500 },
  );
  expect(tooMany).toBeGreaterThan(10);
});
