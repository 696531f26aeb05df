import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { PlanShare } from '../../src/limiter/plan-share.ts';
import type { RateReading } from '../../src/limiter/rate-reading.ts';
import { MINUTE, mostInAMinute } from './services.ts';

const STEP_MS = 20;
const FULL = { remaining: 0, resetMs: MINUTE, resetSlackMs: 1_000, resetIsSure: true, unlimited: false };

/** Always asked for more, answered after 40 ms. Returns when calls started. */
function sends(share: PlanShare, fromMs: number, toMs: number): number[] {
  const times: number[] = [];
  for (let now = fromMs; now < toMs; now += STEP_MS) {
    for (let permits = share.permits(now); permits >= 1; permits--) {
      times.push(now);
      share.answered(share.sent(now), now + 40, null);
    }
  }
  return times;
}

describe('PlanShare', () => {
  it('uses its part evenly and never exceeds it in any minute, earlier calls included', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 120, max: 3_000 }),
        fc.integer({ min: 1, max: 6 }),
        fc.nat({ max: MINUTE }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (rpm, of, agoMs, part) => {
          const share = new PlanShare({ rpm, part: 1 / of });
          const most = Math.max(1, Math.floor(rpm / of));
          const before = Math.floor(most * part);
          share.restore([[-agoMs, before]]);
          const times = sends(share, 0, 3 * MINUTE);
          expect(mostInAMinute([...Array.from({ length: before }, () => -agoMs), ...times])).toBeLessThanOrEqual(most);
          expect(times.filter((at) => at >= MINUTE).length).toBeGreaterThanOrEqual(2 * most * 0.97 - 2);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('takes its part of the smaller limit that a 429 reveals', () => {
    const share = new PlanShare({ rpm: 1_000, part: 0.5 });
    share.answered(share.sent(0), 40, { ...FULL, limit: 200 }, true, 1_000);
    expect(share.rpm).toBe(100);
    expect(mostInAMinute(sends(share, 60_000, 4 * MINUTE))).toBeLessThanOrEqual(100);
  });

  it('takes its part of a smaller stated limit before any 429, once much of that limit is used', () => {
    const share = new PlanShare({ rpm: 1_000, part: 0.5 });
    share.answered(share.sent(0), 40, { ...FULL, limit: 200, remaining: 150 });
    expect(share.rpm).toBe(500);
    share.answered(share.sent(100), 140, { ...FULL, limit: 200, remaining: 40 });
    expect(share.rpm).toBe(100);
  });

  it('waits for the stated reset when nothing is left, but not on an unlimited plan', () => {
    const told = (reading: Partial<RateReading>): PlanShare => {
      const share = new PlanShare({ rpm: 1_000, part: 0.5 });
      share.answered(share.sent(0), 40, { ...FULL, limit: 1_000, remaining: 900, ...reading });
      return share;
    };
    expect([told({ remaining: 0 }).waitMs(1_000), told({ remaining: 1 }).waitMs(1_000)]).toEqual([MINUTE + 40 - 1_000, 0]);
    expect(told({ remaining: 0, limit: 0, unlimited: true }).waitMs(1_000)).toBe(0);
  });

  it('never names the present moment for the next check', () => {
    const share = new PlanShare({ rpm: 60, part: 1 });
    share.restore([[0.2, 60]]);
    for (let now = 0.3; now < 2 * MINUTE; now = Math.max(share.nextAt, now)) {
      if (share.permits(now) >= 1) share.sent(now);
      expect(share.nextAt).toBeGreaterThanOrEqual(now);
      if (share.permits(now) < 1) expect(share.nextAt).toBeGreaterThan(now);
    }
  });
});
