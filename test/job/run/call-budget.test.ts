import { describe, expect, it } from 'vitest';
import { CallBudget } from '../../../src/job/run/call-budget.ts';

const ONE = { step: 'enrich', keys: 1 } as const;

/** A budget of a run that keeps no checkpoint, with what it has spent so far. */
function budgetOf(limits: {
  calls?: number;
  credits?: number;
  sent?: number;
  charged?: number;
  lost?: number;
  uncounted?: { calls: number; credits: number };
}): CallBudget {
  const { calls = null, credits = null, sent = 0, charged = 0, lost = 0, uncounted = { calls: 0, credits: 0 } } = limits;
  const counters = { allCalls: sent, credits: charged, creditsAtMost: charged + lost, costAtMost: ({ keys }: { keys: number }) => keys };
  return new CallBudget({ maxCalls: calls, maxCredits: credits, counters, uncounted, record: null });
}

describe('a call budget', () => {
  it('without limits permits every call', () => {
    const budget = budgetOf({ sent: 7, charged: 3, uncounted: { calls: 2, credits: 1 } });
    expect([budget.ask(ONE), budget.spent]).toEqual([true, { callsAtMost: 9, creditsAtMost: 4 }]);
    expect(budget.claim()).toEqual(budget.spent);
  });

  it('permits a call that may cost exactly what is left, and a smaller one in place of a dearer one', () => {
    const budget = budgetOf({ credits: 10, charged: 6, lost: 1 });
    const verify = (keys: number) => budget.ask({ step: 'verify', keys });
    expect([verify(3), verify(4)]).toEqual([true, 'smaller']);
  });

  it('permits nothing once all calls are sent or all credits may be spent', () => {
    expect(budgetOf({ calls: 5, sent: 5 }).ask(ONE)).toBe('never');
    expect(budgetOf({ credits: 10, charged: 6, lost: 4 }).ask(ONE)).toBe('spent');
  });

  it('permits a poll whatever the credits are, because they are reserved, and none over the limit of calls', () => {
    expect(budgetOf({ credits: 10, charged: 12 }).ask({ ...ONE, isPoll: true })).toBe(true);
    expect(budgetOf({ calls: 5, sent: 5 }).ask({ ...ONE, isPoll: true })).toBe('never');
  });
});

describe('the error of a used-up call budget', () => {
  it('names the calls sent, and those lost by kills', () => {
    const reached = (calls: number): unknown =>
      budgetOf({ calls: 2_000, sent: 2_000 - calls, uncounted: { calls, credits: 0 } }).reached(ONE);
    expect(reached(0)).toMatchObject({
      exitCode: 77,
      code: 'max_calls',
      message: 'limits.maxCalls is reached: 2,000 of 2,000 calls were sent',
    });
    expect(reached(20)).toMatchObject({
      message: expect.stringMatching(/sent, 20 of them perhaps, by a run that was killed before it could count them$/),
    });
  });

  it('names the credits spent, and those that no answer has named', () => {
    expect(budgetOf({ credits: 500, charged: 500 }).reached(ONE)).toMatchObject({
      exitCode: 77,
      code: 'max_credits',
      message: 'limits.maxCredits is reached: 500 of 500 credits are spent',
      hint: expect.stringContaining('--limits.maxCredits'),
    });
    expect(budgetOf({ credits: 500, charged: 490, lost: 4, uncounted: { calls: 0, credits: 6 } }).reached(ONE)).toMatchObject({
      message:
        'limits.maxCredits is reached: 500 of 500 credits are spent, 10 of them perhaps, ' +
        'by answers that never arrived, name no credits or are still to come',
    });
  });

  it('names what the next call may cost when some credits are left', () => {
    expect(budgetOf({ credits: 500, charged: 498 }).reached({ step: 'reveal', keys: 3 })).toMatchObject({
      code: 'max_credits',
      message: 'the next call may cost 3 credits, and limits.maxCredits leaves 2 of 500',
    });
  });
});
