import { describe, expect, it } from 'vitest';
import type { PaidLookups } from '../../../src/job/commands/plan-counts.ts';
import { creditsText, forecastCredits } from '../../../src/job/commands/plan-credits.ts';

const EUR = { perCredit: 0.01, currency: 'EUR' };
const paid = (asked: Partial<PaidLookups['asked']>, verifyFound = 0): PaidLookups => ({
  asked: { enrich: 0, verify: 0, company: 0, reveal: 0, ...asked },
  found: verifyFound === 0 ? [] : [{ step: 'verify', by: 'enrich', lookups: verifyFound }],
});
const forecast = (lookups: PaidLookups, rates = {}, stated: number | null = null, creditPrice: typeof EUR | null = null) =>
  forecastCredits(lookups, rates, stated, creditPrice);

describe('the forecast of credits', () => {
  it('counts a match as one credit, a miss as none, and a verdict as one', () => {
    expect(forecast(paid({ enrich: 1_000, verify: 400 }), { enrich: 0.6 })).toEqual({
      atMost: 1_400,
      expected: 1_000,
      matchRates: { enrich: 0.6 },
      from: 'ledger',
      cost: null,
    });
  });

  it('expects verdicts on found addresses only for the lookups that match', () => {
    expect(forecast(paid({ enrich: 1_000, verify: 1_000 }, 1_000), { enrich: 0.25 })).toMatchObject({ atMost: 2_000, expected: 500 });
  });

  it('takes a stated match rate in place of the ledger', () => {
    expect(forecast(paid({ enrich: 100, reveal: 50 }), { enrich: 0.9 }, 0.5, EUR)).toEqual({
      atMost: 150,
      expected: 75,
      matchRates: { enrich: 0.5, reveal: 0.5 },
      from: 'stated',
      cost: { amount: 0.75, currency: 'EUR' },
    });
  });

  it('has only an upper bound while a step has no match rate', () => {
    expect(forecast(paid({ enrich: 100, company: 50 }), { enrich: 0.9 }, null, EUR)).toMatchObject({
      atMost: 150,
      expected: null,
      cost: null,
    });
  });

  it('has an exact number where only verdicts are left to pay', () => {
    expect(forecast(paid({ verify: 70 }))).toMatchObject({ atMost: 70, expected: 70, from: null });
  });
});

describe('the forecast of credits in words', () => {
  it.each([
    [forecast(paid({})), null, 'none'],
    [forecast(paid({ verify: 70 })), null, '70'],
    [forecast(paid({ enrich: 1_000 })), null, 'at most 1,000; with --match-rate 60% an estimate'],
    [forecast(paid({ enrich: 2_000 }), { enrich: 0.6 }), null, 'about 1,200, at most 2,000 (match rates in the ledger: enrich 60 %)'],
    [
      forecast(paid({ enrich: 200_000 }), {}, 0.6, EUR),
      100_000,
      'about 120,000, at most 200,000 (stated match rate: enrich 60 %); about 1,200.00 EUR; limits.maxCredits stops the run at 100,000' +
        '; for that limit a match whose answer names no credits counts as one, or as its definition says',
    ],
  ])('%#', (one, maxCredits, text) => {
    expect(creditsText(one, maxCredits)).toBe(text);
  });
});
