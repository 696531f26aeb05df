import * as fc from '../../../support/fast-check.ts';
import { expect, it } from 'vitest';
import { PostingBuilder } from '../../../../src/service/store/index/posting-builder.ts';

it('a posting builder returns the rows of each term in order, and is empty afterwards', () => {
  const rows = fc.array(fc.uniqueArray(fc.nat(40), { maxLength: 8 }), { maxLength: 30 });
  fc.assert(
    fc.property(fc.array(rows, { maxLength: 3 }), (batches) => {
      const collector = new PostingBuilder();
      for (const batch of batches) {
        const numbers = Uint32Array.from(batch.flat());
        let from = 0;
        for (const [row, terms] of batch.entries()) {
          collector.add(row, numbers, { from, to: from + terms.length });
          from += terms.length;
        }
        const found = new Map<number, number[]>();
        collector.take((number, list) => found.set(number, [...list]));
        expect([...found]).toEqual(
          Array.from(
            { length: 41 },
            (_, number) => [number, batch.flatMap((terms, row) => (terms.includes(number) ? [row] : []))] as const,
          ).filter(([, list]) => list.length > 0),
        );
        expect(collector.isEmpty).toBe(true);
      }
    }),
  );
});

it('a posting builder grows beyond its initial capacity', () => {
  const collector = new PostingBuilder();
  const numbers = Uint32Array.from({ length: 100_000 }, (_, index) => index % 3);
  for (let at = 0; at < numbers.length; at += 50_000) collector.add(at, numbers, { from: at, to: at + 50_000 });
  const counts: number[] = [];
  collector.take((_number, list) => counts.push(list.length));
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(100_000);
});
