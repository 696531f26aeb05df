/** Whether and when a failed call is repeated. */
import { describe, expect, it } from 'vitest';
import { DataServiceError } from '../../../src/client/data-service-error.ts';
import { Retries } from '../../../src/client/library/retries.ts';
import * as fc from '../../support/fast-check.ts';

const USUAL = { maxAttempts: 4, retryDelayMs: 500, waitForRateLimit: false };

function failed(status: number, retryAfterMs: number | null = null, retryable = true): DataServiceError {
  return new DataServiceError('failed', { code: `http_${status}`, status, retryable, retryAfterMs });
}

describe('pauses between attempts', () => {
  it('a pause is random between nothing and a bound that doubles up to 8 seconds', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (random) => {
        const retries = new Retries({ ...USUAL, maxAttempts: 99 }, () => random);
        for (let i = 0; i < 7; i++) {
          const pause = retries.pauseAfter(failed(500));
          expect(pause).toBe(random * Math.min(8_000, 500 * 2 ** i));
        }
      }),
    );
  });

  it('a pause is at least the Retry-After, and at most a tenth longer', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 1_000, max: 60_000 }),
        (random, asked) => {
          const pause = new Retries(USUAL, () => random).pauseAfter(failed(503, asked));
          expect(pause).toBeGreaterThanOrEqual(asked);
          expect(pause).toBeLessThanOrEqual(asked * 1.1);
        },
      ),
    );
  });
});

describe('a failed call', () => {
  it('a call ends after the attempts that it may have, and the error counts them', () => {
    const retries = new Retries(USUAL, () => 0);
    for (let i = 0; i < 3; i++) retries.pauseAfter(failed(500));
    const last = failed(500);
    expect(() => retries.pauseAfter(last)).toThrow(last);
    expect(last.attempts).toBe(4);
  });

  it('a call ends at once when a repeat cannot help, or the service wants more than a minute', () => {
    for (const error of [failed(422, null, false), failed(503, 60_001), failed(429, 60_001)]) {
      expect(() => new Retries(USUAL, () => 0).pauseAfter(error)).toThrow(error);
    }
  });

  it('a call waits for a rate limit as often as it takes, at most 15 minutes in all', () => {
    const retries = new Retries({ ...USUAL, maxAttempts: 1, waitForRateLimit: true }, () => 0);
    for (let i = 0; i < 15; i++) expect(retries.pauseAfter(failed(429, 60_000))).toBe(60_000);
    expect(() => retries.pauseAfter(failed(429, 1))).toThrow('failed');
    expect(() => new Retries({ ...USUAL, waitForRateLimit: true }, () => 0).pauseAfter(failed(429, 900_001))).toThrow('failed');
  });

  it('a stream has all its attempts again after something came', () => {
    const retries = new Retries({ ...USUAL, maxAttempts: 2 }, () => 0);
    for (let i = 0; i < 10; i++) {
      retries.pauseAfter(failed(500));
      retries.restart();
    }
    expect(retries.sent).toBe(10);
  });
});
