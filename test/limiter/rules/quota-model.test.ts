import { describe, expect, it } from 'vitest';
import type { QuotaRules } from '../../../src/limiter/quota-rules.ts';
import type { RateReading } from '../../../src/limiter/inference/rate-reading.ts';
import { answerOf, modelOf } from '../virtual.ts';

const reading = (remaining: number, resetMs: number, limit = 60): RateReading => ({
  remaining,
  limit,
  resetMs,
  resetSlackMs: 0,
  resetIsSure: true,
  unlimited: false,
});

/** Calls that start now; each is granted one by one. */
function take(model: QuotaRules, nowMs: number, most: number): number[] {
  const callNumbers: number[] = [];
  while (callNumbers.length < most && model.permits(nowMs).permits >= 1) callNumbers.push(model.sent(nowMs));
  return callNumbers;
}

describe('QuotaModel', () => {
  it('lets its first call go alone', () => {
    const model = modelOf(600);
    expect(take(model, 0, 10)).toEqual([1]);
  });

  it.each([null, 1_000])('does not take failures for headers that stopped coming: what was said holds (rpm %s)', (rpm) => {
    const model = modelOf(rpm);
    const [first] = take(model, 0, 1) as [number];
    if (rpm === null) model.sent(0);
    model.answered(answerOf(first, 50, reading(3, 50_000, rpm ?? 60)));
    for (let i = 0; i < 4; i++)
      for (const callNumber of take(model, 100 + i, 100)) model.answered(answerOf(callNumber, 200 + i, null, false, null, true));
    expect(model.permits(300).permits).toBe(0);
    expect(model.permits(20_000).permits).toBeLessThanOrEqual(rpm === null ? 0 : 400);
  });

  it('asks with one call after a reset, also when the last answer was a failure', () => {
    const model = modelOf(null);
    model.answered(answerOf(model.sent(0), 50, reading(1, 10_000)));
    for (const callNumber of take(model, 100, 100)) model.answered(answerOf(callNumber, 150, null, false, null, true));
    expect(take(model, 11_000, 100)).toHaveLength(1);
  });

  it('goes by the plan when headers stop coming, and by no quota where there is no plan', () => {
    const model = modelOf(null);
    model.answered(answerOf(model.sent(0), 50, reading(0, 1_000), true, 1_000));
    for (let i = 1; i <= 3; i++) model.answered(answerOf(model.sent(i * 2_000), i * 2_000 + 10, null));
    expect(model.permits(10_000).permits).toBe(Infinity);
  });

  it('does not take the time that a hung call took for a latency', () => {
    const model = modelOf(300);
    let sent = 0;
    let hung = 0;
    for (let now = 0; now < 180_000; now += 50) {
      for (const callNumber of take(model, now, 100)) {
        sent++;
        if (sent === 400) hung = callNumber;
        else model.answered(answerOf(callNumber, now, null));
      }
      if (now === 120_000) model.answered(answerOf(hung, now, null, false, null, true));
    }
    expect(sent).toBeGreaterThanOrEqual(890);
  });
});

describe('a 429 that nobody could foresee, among calls that were answered', () => {
  it.each([0, 14])(
    'holds for the second that it asks for, not until the reset that the others state (it says that %d are left)',
    (left) => {
      const model = modelOf(600);
      const told = (remaining: number): RateReading => ({ ...reading(remaining, 60_000, 600), resetIsSure: false, resetSlackMs: 1_000 });
      model.answered(answerOf(model.sent(0), 50, told(599)));
      // A bucket that is drained quickly, so that nothing is known of how it comes back.
      for (let round = 0; round < 39; round++)
        for (const [i, callNumber] of take(model, 100 + 50 * round, 15).entries())
          model.answered(answerOf(callNumber, 150 + 50 * round, told(599 - 15 * round - i - 1)));
      const callNumbers = take(model, 2_100, 15);
      expect(callNumbers.length).toBeGreaterThan(1);
      const [stray, ...others] = callNumbers as [number, ...number[]];
      model.answered(answerOf(stray, 2_150, told(left), true, 1_000));
      for (const [i, callNumber] of others.entries()) model.answered(answerOf(callNumber, 2_150, told(14 - i)));
      expect(model.permits(2_160).permits).toBe(0);
      expect(model.permits(2_160).atMs).toBeLessThanOrEqual(4_200);
      expect(take(model, 4_200, 10)).toHaveLength(1);
    },
  );
});

describe('QuotaModel.beyondPlan', () => {
  /** A bucket of 600 that is asked one call at a time: what is left falls, and comes back evenly. */
  it('counts the permits that a bucket held at the start, once', () => {
    const model = modelOf(600);
    model.answered(answerOf(model.sent(0), 50, reading(599, 60_000, 600)));
    expect([model.beyondPlan(50), model.beyondPlan(90_000)]).toEqual([600, 600]);
  });

  it('gives 0 after a resume, because the earlier run had those permits', () => {
    const model = modelOf(600);
    model.restoreCalls([[-5_000, 100]], 0);
    model.answered(answerOf(model.sent(0), 50, reading(499, 60_000, 600)));
    expect(model.beyondPlan(90_000)).toBe(0);
  });

  it('gives 0 for a window other than the plan’s minute, and without headers', () => {
    const model = modelOf(600);
    expect(model.beyondPlan(0)).toBe(0);
    model.answered(answerOf(model.sent(0), 50, reading(299, 3_600_000, 300)));
    expect(model.beyondPlan(90_000)).toBe(0);
  });
});

describe('QuotaModel.waiting', () => {
  it('names the end of the minute that a killed run may have spent, when the service sends no headers', () => {
    const model = modelOf(60);
    model.restoreCalls([[-1_000, 60]], 0);
    expect(model.waiting(0)).toBeNull();
    model.answered(answerOf(model.sent(0), 50, null));
    const wait = model.waiting(100);
    expect(wait).toMatchObject({ reason: 'resume', what: 'the end of the minute of which the run before may have spent all' });
    expect(wait?.untilMs).toBeGreaterThanOrEqual(59_000);
  });

  it('names the quota and its reset when the headers say that nothing is left', () => {
    const model = modelOf(60);
    model.answered(answerOf(model.sent(0), 50, reading(0, 40_000)));
    expect(model.waiting(100)).toMatchObject({ reason: 'quota', untilMs: expect.any(Number) });
  });

  it('gives null while an answer in flight may change the quota', () => {
    const model = modelOf(60);
    model.sent(0);
    expect(model.waiting(100)).toBeNull();
  });
});
