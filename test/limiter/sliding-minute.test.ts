import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MINUTE_MS, SlidingMinute } from '../../src/limiter/sliding-minute.ts';
import { mostInAnyMinute } from './virtual.ts';

describe('SlidingMinute', () => {
  it('lets no minute have more permits than leases times their size, whenever they are asked for and used', () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.boolean()), { minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 1, max: 5 }), steps, (leases, size, waits) => {
        const minute = new SlidingMinute(leases);
        const used: number[] = [];
        let now = 1_000;
        let left = 0;
        for (const [wait, late] of waits) {
          now += late ? wait : 0;
          if (left === 0) {
            now += minute.waitMs(now);
            expect(minute.waitMs(now)).toBe(0);
            minute.begin();
            left = size;
          }
          minute.use(now);
          left--;
          used.push(now);
        }
        expect(mostInAnyMinute(used)).toBeLessThanOrEqual(leases * size);
      }),
    );
  });

  it('holds nothing back that a minute has room for', () => {
    const minute = new SlidingMinute(3);
    for (const at of [0, 10, 20]) {
      expect(minute.waitMs(at)).toBe(0);
      minute.begin();
      minute.use(at);
    }
    expect(minute.waitMs(30)).toBe(MINUTE_MS - 30);
    expect(minute.waitMs(MINUTE_MS)).toBe(0);
  });
});
