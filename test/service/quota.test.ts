import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fullBucket, MemoryQuota, quotaHeaders, refill, take, UNLIMITED_REMAINING } from '../../src/service/quota.ts';

describe('the token bucket', () => {
  it('grants a whole minute at once, then one every 60 / rpm seconds', () => {
    const quota = new MemoryQuota();
    for (let n = 0; n < 60; n++) expect(quota.take('k', 60, 0).allowed).toBe(true);
    expect(quota.take('k', 60, 0)).toEqual({ allowed: false, limit: 60, remaining: 0, resetS: 60, retryAfterS: 1 });
    expect(quota.take('k', 60, 999).allowed).toBe(false);
    expect(quota.take('k', 60, 1000).allowed).toBe(true);
    expect(quota.take('k', 60, 1001).allowed).toBe(false);
  });

  it('keeps keys apart, and takes nothing for a look', () => {
    const quota = new MemoryQuota();
    quota.take('a', 10, 0);
    expect(quota.peek('a', 10, 0).remaining).toBe(9);
    expect(quota.peek('a', 10, 0).remaining).toBe(9);
    expect(quota.peek('b', 10, 0).remaining).toBe(10);
  });

  it('says when the bucket is full again, and when one token is there', () => {
    const quota = new MemoryQuota();
    expect(quota.take('k', 1000, 0)).toMatchObject({ remaining: 999, resetS: 1 });
    for (let n = 0; n < 499; n++) quota.take('k', 1000, 0);
    expect(quota.peek('k', 1000, 0)).toMatchObject({ remaining: 500, resetS: 30 });
    const slow = new MemoryQuota();
    slow.take('k', 2, 0);
    slow.take('k', 2, 0);
    expect(slow.take('k', 2, 0).retryAfterS).toBe(30);
  });

  it('never grants more than a minute\'s quota and what flows in, and never refuses what is there', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6_000 }), fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 300 }), (rpm, gaps) => {
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
      }),
    );
  });

  it('is not filled by a clock that goes back', () => {
    const { bucket } = take(fullBucket(10, 5_000), 10, 5_000);
    expect(refill(bucket, 10, 0)).toEqual({ tokens: 9, atMs: 5_000 });
  });

  it('has headers with and without a limit', () => {
    expect(quotaHeaders('growth', { allowed: true, limit: 1000, remaining: 999, resetS: 1, retryAfterS: 0 })).toEqual({
      'x-ratelimit-limit': '1000',
      'x-ratelimit-remaining': '999',
      'x-ratelimit-reset': '1',
      'ratelimit-policy': '"growth";q=1000;w=60',
      ratelimit: '"growth";r=999;t=1',
    });
    expect(quotaHeaders('enterprise', null)).toMatchObject({ 'x-ratelimit-limit': '0', 'x-ratelimit-remaining': String(UNLIMITED_REMAINING), 'x-ratelimit-reset': '0' });
  });
});
