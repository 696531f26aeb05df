import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import {
  decisionOf,
  fullBucket,
  owe,
  returnTokens,
  quotaHeaders,
  refill,
  take,
  UNLIMITED_REMAINING,
  type QuotaDecision,
} from '../../../src/service/accounts/token-bucket.ts';

/** The decisions on requests at these times, milliseconds. */
function asked(rpm: number, times: readonly number[]): QuotaDecision[] {
  let bucket = fullBucket(rpm, 0);
  return times.map((nowMs) => {
    const taken = take(bucket, rpm, nowMs);
    bucket = taken.bucket;
    return taken.decision;
  });
}

describe('the token bucket', () => {
  it('grants a whole minute at once, then one every 60 / rpm seconds', () => {
    const decisions = asked(60, [...Array.from({ length: 61 }, () => 0), 999, 1000, 1001]);
    expect(decisions.slice(0, 60).every(({ allowed }) => allowed)).toBe(true);
    expect(decisions[60]).toEqual({ allowed: false, limit: 60, remaining: 0, resetS: 60, retryAfterS: 1 });
    expect(decisions.slice(61).map(({ allowed }) => allowed)).toEqual([false, true, false]);
  });

  it('says when the bucket is full again, and when one token is there', () => {
    const decisions = asked(
      1000,
      Array.from({ length: 500 }, () => 0),
    );
    expect([decisions[0], decisions[499]]).toMatchObject([
      { remaining: 999, resetS: 1 },
      { remaining: 500, resetS: 30 },
    ]);
    expect(asked(2, [0, 0, 0])[2]).toMatchObject({ retryAfterS: 30, remaining: 0 });
  });

  it('takes owed tokens below zero, and grants nothing until the refill has paid them', () => {
    let bucket = owe(fullBucket(60, 0), 60, 0, 70);
    expect(decisionOf(bucket, 60, true)).toMatchObject({ remaining: 0, resetS: 70 });
    for (const [nowMs, allowed] of [
      [0, false],
      [10_999, false],
      [11_000, true],
      [11_000, false],
    ] as const) {
      const taken = take(bucket, 60, nowMs);
      expect(taken.decision.allowed).toBe(allowed);
      bucket = taken.bucket;
    }
  });

  it('reports how long a debt delays the next request', () => {
    expect(decisionOf({ tokens: -2, atMs: 0 }, 60, false)).toEqual({
      allowed: false,
      limit: 60,
      remaining: 0,
      resetS: 62,
      retryAfterS: 3,
    });
  });

  it("never grants more than a minute's quota plus its refill, and never refuses a token that is there", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6_000 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 300 }),
        (rpm, gaps) => {
          let bucket = fullBucket(rpm, 0);
          let now = 0;
          let granted = 0;
          for (const gap of gaps) {
            now += gap;
            const before = refill(bucket, rpm, now);
            const { bucket: after, decision } = take(bucket, rpm, now);
            bucket = after;
            if (decision.allowed) granted++;
            else {
              expect(before.tokens).toBeLessThan(1);
              expect(take(bucket, rpm, now + decision.retryAfterS * 1000).decision.allowed).toBe(true);
            }
            expect(granted).toBeLessThanOrEqual(rpm + (now * rpm) / 60_000 + 1e-3);
            expect(refill(bucket, rpm, now + decision.resetS * 1000).tokens).toBeCloseTo(rpm, 3);
          }
        },
      ),
    );
  });

  it("takes back unused tokens, and never holds more than a minute's quota", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 6_000 }),
        fc.integer({ min: 1, max: 6_000 }),
        fc.integer({ min: 0, max: 120_000 }),
        (rpm, count, laterMs) => {
          fc.pre(count <= rpm);
          const taken = take(fullBucket(rpm, 0), rpm, 0, count);
          expect(returnTokens(taken.bucket, rpm, laterMs, count)).toEqual({ tokens: rpm, atMs: laterMs });
          expect(returnTokens(take(taken.bucket, rpm, 0, rpm - count).bucket, rpm, 0, count).tokens).toBeCloseTo(count, 6);
        },
      ),
    );
  });

  it('keeps its level when the clock goes back', () => {
    const { bucket } = take(fullBucket(10, 5_000), 10, 5_000);
    expect(refill(bucket, 10, 0)).toEqual({ tokens: 9, atMs: 5_000 });
  });

  it('gives the headers of a quota with and without a limit', () => {
    expect(quotaHeaders('growth', { allowed: true, limit: 1000, remaining: 999, resetS: 1, retryAfterS: 0 })).toEqual({
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '999',
      'x-ratelimit-reset': '1',
      'ratelimit-policy': '"growth";q=1000;w=60',
      ratelimit: '"growth";r=999;t=1',
    });
    expect(quotaHeaders('enterprise', null)).toMatchObject({
      'x-ratelimit-limit': '0',
      'x-ratelimit-remaining': String(UNLIMITED_REMAINING),
      'x-ratelimit-reset': '0',
    });
  });
});
