import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import { StartTimes } from '../../../src/job/run/start-times.ts';

test('the age of the oldest record in progress is exact to a quarter of a second, whatever starts and ends in between', () => {
  const moves = fc.array(fc.record({ afterMs: fc.nat({ max: 400 }), starts: fc.nat({ max: 3 }), ends: fc.nat({ max: 3 }) }), {
    minLength: 1,
    maxLength: 60,
  });
  fc.assert(
    fc.property(moves, (all) => {
      const times = new StartTimes();
      const startedAt: number[] = [];
      let [now, oldest] = [1_000, 0];
      for (const { afterMs, starts, ends } of all) {
        now += afterMs;
        for (let i = 0; i < starts; i++) {
          times.started(startedAt.length, oldest, now);
          startedAt.push(now);
        }
        oldest = Math.min(startedAt.length, oldest + ends);
        if (oldest === startedAt.length) continue;
        const exact = now - (startedAt[oldest] as number);
        const ageMs = times.ageMs(oldest, now);
        expect(ageMs).toBeGreaterThanOrEqual(exact);
        expect(ageMs).toBeLessThanOrEqual(exact + 250);
      }
    }),
  );
});
