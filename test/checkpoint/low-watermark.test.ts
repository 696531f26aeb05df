import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LowWatermark } from '../../src/checkpoint/low-watermark.ts';

describe('LowWatermark', () => {
  it('hands results over in order, each once, as soon as nothing is missing below them', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_000 }).chain((n) => fc.shuffledSubarray([...Array(n).keys()], { minLength: n, maxLength: n })), (order) => {
        const watermark = new LowWatermark<number>(4);
        const seen: number[] = [];
        const put = new Set<number>();
        for (const number of order) {
          put.add(number);
          watermark.put(number, number * 10, (value, at) => {
            expect(value).toBe(at * 10);
            seen.push(at);
          });
          let expected = 0;
          while (put.has(expected)) expected++;
          expect(watermark.watermark).toBe(expected);
        }
        expect(seen).toEqual([...Array(order.length).keys()]);
      }),
    );
  });

  it('keeps order when a handed-over result leads to the next put', () => {
    const watermark = new LowWatermark<string>(4);
    const seen: number[] = [];
    const emit = (_: string, at: number): void => {
      seen.push(at);
      if (at === 0) watermark.put(2, 'c', emit);
    };
    watermark.put(1, 'b', emit);
    watermark.put(0, 'a', emit);
    expect(seen).toEqual([0, 1, 2]);
  });

  it('refuses a number twice', () => {
    const watermark = new LowWatermark<number>();
    watermark.put(0, 1, () => undefined);
    expect(() => watermark.put(0, 1, () => undefined)).toThrow('twice');
  });
});
