import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ReorderBuffer } from '../../src/util/reorder-buffer.ts';

describe('a reorder buffer', () => {
  it('emits results in order, each once, as soon as no lower number is missing', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3_000 }).chain((n) => fc.shuffledSubarray([...Array(n).keys()], { minLength: n, maxLength: n })),
        (order) => {
          const buffer = new ReorderBuffer<number>(4);
          const seen: number[] = [];
          const put = new Set<number>();
          for (const number of order) {
            put.add(number);
            buffer.put(number, number * 10, (value, at) => {
              expect(value).toBe(at * 10);
              seen.push(at);
            });
            let expected = 0;
            while (put.has(expected)) expected++;
            expect(buffer.released).toBe(expected);
          }
          expect(seen).toEqual([...Array(order.length).keys()]);
        },
      ),
    );
  });

  it('keeps the order when an emitted result leads to the next put', () => {
    const buffer = new ReorderBuffer<string>(4);
    const seen: number[] = [];
    const emit = (_: string, at: number): void => {
      seen.push(at);
      if (at === 0) buffer.put(2, 'c', emit);
    };
    buffer.put(1, 'b', emit);
    buffer.put(0, 'a', emit);
    expect(seen).toEqual([0, 1, 2]);
  });

  it('refuses a number that was put before', () => {
    const buffer = new ReorderBuffer<number>();
    buffer.put(0, 1, () => undefined);
    expect(() => buffer.put(0, 1, () => undefined)).toThrow('put once');
  });
});
