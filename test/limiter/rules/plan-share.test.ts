import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { PlanShare } from '../../../src/limiter/rules/plan-share.ts';
import type { RateReading } from '../../../src/limiter/inference/rate-reading.ts';
import { QuotaRules } from '../../../src/limiter/quota-rules.ts';
import { MINUTE, mostInAMinute } from '../services.ts';
import { answerOf } from '../virtual.ts';

const STEP_MS = 20;
const FULL = { remaining: 0, resetMs: MINUTE, resetSlackMs: 1_000, resetIsSure: true, unlimited: false };

const shareOf = (rpm: number, part: number): QuotaRules =>
  new QuotaRules((log, latencies) => [new PlanShare({ rpm, part }, log, latencies)]);
/** The wait of a share while its next call is paced. @param rpm requests a minute of the share */
const pacing = (rpm: number): object => ({ what: `the next of ${rpm} requests a minute, this run's part of the plan` });

/** Always asked for more, answered after 40 ms. Returns when calls started. */
function sends(share: QuotaRules, fromMs: number, toMs: number): number[] {
  const times: number[] = [];
  for (let now = fromMs; now < toMs; now += STEP_MS) {
    for (let permits = share.permits(now).permits; permits >= 1; permits--) {
      times.push(now);
      share.answered(answerOf(share.sent(now), now + 40, null));
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
          const share = shareOf(rpm, 1 / of);
          const most = Math.max(1, Math.floor(rpm / of));
          const before = Math.floor(most * part);
          share.restoreCalls([[-agoMs, before]], 0);
          const times = sends(share, 0, 3 * MINUTE);
          expect(mostInAMinute([...Array.from({ length: before }, () => -agoMs), ...times])).toBeLessThanOrEqual(most);
          expect(times.filter((at) => at >= MINUTE).length).toBeGreaterThanOrEqual(2 * most * 0.97 - 2);
        },
      ),
      { numRuns: 30 },
    );
  });

  it('takes its part of the smaller limit that a 429 reveals', () => {
    const share = shareOf(1_000, 0.5);
    share.answered(answerOf(share.sent(0), 40, { ...FULL, limit: 200 }, true, 1_000));
    expect(mostInAMinute(sends(share, 60_000, 4 * MINUTE))).toBeLessThanOrEqual(100);
  });

  it('takes its part of a smaller stated limit before any 429, once much of that limit is used', () => {
    const share = shareOf(1_000, 0.5);
    share.answered(answerOf(share.sent(0), 40, { ...FULL, limit: 200, remaining: 150 }));
    expect(share.waiting(50)).toMatchObject(pacing(500));
    share.answered(answerOf(share.sent(100), 140, { ...FULL, limit: 200, remaining: 40 }));
    expect(sends(share, 1_000, 1_000 + MINUTE).length).toBeLessThanOrEqual(100);
  });

  it('waits for the stated reset when nothing is left, but not on an unlimited plan', () => {
    const told = (reading: Partial<RateReading>): QuotaRules => {
      const share = shareOf(1_000, 0.5);
      share.answered(answerOf(share.sent(0), 40, { ...FULL, limit: 1_000, remaining: 900, ...reading }));
      return share;
    };
    expect(told({ remaining: 0 }).usedUp(1_000)).toEqual({ what: 'quota', untilMs: MINUTE + 40 });
    expect(told({ remaining: 0 }).permits(1_000)).toEqual({ permits: 0, atMs: MINUTE + 40 });
    for (const share of [told({ remaining: 1 }), told({ remaining: 0, limit: 0, unlimited: true })])
      expect([share.usedUp(1_000), share.permits(1_000).permits > 0]).toEqual([null, true]);
  });

  it('never names the present moment for the next check', () => {
    const share = shareOf(60, 1);
    share.restoreCalls([[0.2, 60]], 0.3);
    for (let now = 0.3; now < 2 * MINUTE; now = Math.max(share.permits(now).atMs, now + 1)) {
      if (share.permits(now).permits >= 1) share.sent(now);
      if (share.permits(now).permits < 1) expect(share.permits(now).atMs).toBeGreaterThan(now);
    }
  });
});
