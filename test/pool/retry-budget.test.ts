import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { MAX_SAVED, RetryBudget } from '../../src/pool/retry-budget.ts';

function takeAll(budget: RetryBudget, nowMs: number): number {
  let retries = 0;
  while (budget.take(nowMs)) retries++;
  return retries;
}

describe('RetryBudget', () => {
  it('begins with 100 retries and gains ten a second', () => {
    const budget = new RetryBudget();
    expect(takeAll(budget, 5_000)).toBe(MAX_SAVED);
    expect([budget.take(5_099), budget.take(5_100), budget.take(5_101)]).toEqual([false, true, false]);
    expect(takeAll(budget, 7_100)).toBe(20);
  });

  it('gains one retry per five first attempts', () => {
    const budget = new RetryBudget();
    takeAll(budget, 0);
    for (let i = 0; i < 5; i++) {
      expect(budget.take(0)).toBe(false);
      budget.firstAttempt();
    }
    expect(takeAll(budget, 0)).toBe(1);
    for (let i = 0; i < 50; i++) budget.firstAttempt();
    expect(takeAll(budget, 0)).toBe(10);
  });

  it('never saves more than it began with', () => {
    const budget = new RetryBudget();
    budget.take(0);
    for (let i = 0; i < 10_000; i++) budget.firstAttempt();
    expect(takeAll(budget, 3_600_000)).toBe(MAX_SAVED);
  });

  it('names the wait until the next retry, and allows the retry then', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant('first'), fc.nat(500)), { maxLength: 60 }), (steps) => {
        const budget = new RetryBudget();
        takeAll(budget, 0);
        let now = 0;
        for (const step of steps) {
          if (step === 'first') budget.firstAttempt();
          else now += step;
          while (budget.take(now));
          expect(budget.waitMs).toBeGreaterThanOrEqual(1);
          expect(budget.waitMs).toBeLessThanOrEqual(100);
          now += budget.waitMs;
          expect(budget.take(now)).toBe(true);
        }
      }),
    );
  });

  it('never allows more than a fifth of the first attempts, ten a second and the saved retries', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('first', 'retry', 'time'), { maxLength: 500, size: 'max' }), (steps) => {
        const budget = new RetryBudget();
        let [now, firsts, retries] = [0, 0, 0];
        for (const step of steps) {
          if (step === 'time') now += 37;
          else if (step === 'first') {
            budget.firstAttempt();
            firsts++;
          } else if (budget.take(now)) retries++;
          expect(retries).toBeLessThanOrEqual(MAX_SAVED + firsts * 0.2 + now / 100 + 1e-6);
        }
      }),
    );
  });
});
