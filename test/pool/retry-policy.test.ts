import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { MAX_ATTEMPTS, retryDelayMs } from '../../src/pool/retry-policy.ts';

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

describe('retryDelayMs', () => {
  it('returns a random delay from 0 to a ceiling that doubles with each attempt, up to 20 s', () => {
    expect([1, 2, 3, 4, 7, 8, 60, 2_000].map((attempt) => Math.round(retryDelayMs(attempt, null, 1)))).toEqual([
      250, 500, 1_000, 2_000, 16_000, 20_000, 20_000, 20_000,
    ]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_ATTEMPTS }), random, (attempt, r) => {
        const delay = retryDelayMs(attempt, null, r);
        expect(Number.isInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(250 * 2 ** (attempt - 1));
        expect(delay / (250 * 2 ** (attempt - 1))).toBeCloseTo(r, 1);
      }),
    );
  });

  it('never returns less than the Retry-After of the service', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(), random, (attempt, retryAfterMs, r) => {
        expect(retryDelayMs(attempt, retryAfterMs, r)).toBeGreaterThanOrEqual(retryAfterMs);
      }),
    );
  });
});
