/** The limit that a plan expects to end a run on its way. */
import { describe, expect, it } from 'vitest';
import { laterEnd, neededOfProviders, neededOfService } from '../../../src/job/commands/plan-limits.ts';
import type { PlaceForecast, ProviderForecast } from '../../../src/job/commands/plan-providers.ts';
import { NEW_PROVIDER } from '../../../src/checkpoint/provider-state.ts';
import { NO_TOTALS } from '../../../src/checkpoint/run-totals.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { compiled } from '../../definition/support.ts';
import { jobOf } from '../../support/provider-jobs.ts';

type Range = ProviderForecast['requests'];

function forecast(requests: Range, credits: Range, polls = 0): ProviderForecast {
  const place: PlaceForecast = {
    place: 1,
    lookups: requests,
    fromLedger: 0,
    requests,
    matchRate: null,
    credits,
    ...(polls > 0 ? { polls } : {}),
  };
  const times = { cost: null, seconds: null, secondsWithBurst: null };
  return { steps: { enrich: place }, requests, credits, ...(polls > 0 ? { polls } : {}), ...times };
}

const exactly = (n: number): Range => ({ atMost: n, expected: n });
const upTo = (n: number): Range => ({ atMost: n, expected: null });

/** How a job with these settings of its one provider ends. */
function endOf(
  settings: object,
  one: ProviderForecast,
  { flags = {}, state = {} }: { flags?: Record<string, string>; state?: object } = {},
) {
  const job = jobOf({ steps: [{ enrich: { from: ['late'] } }], providers: { late: settings }, flags });
  const checkpoint = { ...CHECKPOINT, providers: { late: { ...NEW_PROVIDER, ...state } } };
  return laterEnd(neededOfProviders(job, checkpoint, { late: one }));
}

describe('the limit that ends a run on its way', () => {
  it.each([
    [
      'a limit of calls, which polls count against',
      { maxCalls: 150 },
      forecast(exactly(100), upTo(100), 100),
      {
        exitCode: 77,
        code: 'provider_limit',
        reason: 'providers.late.maxCalls leaves 150 requests of 200 that are needed',
        chance: 'certain',
      },
    ],
    [
      'a limit of credits, by the match rates',
      { maxCredits: 50 },
      forecast(exactly(100), { atMost: 100, expected: 60 }),
      { reason: 'providers.late.maxCredits leaves 50 credits of about 60 that are needed', chance: 'expected' },
    ],
    [
      'a limit of credits, at the most that lookups may cost',
      { maxCredits: 50 },
      forecast(exactly(100), upTo(100)),
      { reason: 'providers.late.maxCredits leaves 50 credits of up to 100 that are needed', chance: 'possible' },
    ],
    [
      'a window that is closed for longer than the run may wait',
      { windows: ['1000/minute', '120/day'] },
      forecast(exactly(100), upTo(0), 100),
      { exitCode: 69, code: 'wait_too_long', reason: 'late: the quota of 120 requests a day leaves 120 requests of 200 that are needed' },
    ],
    [
      'the certain limit, not one that is only possible, and of several the one that is reached first',
      { maxCalls: 90, maxCredits: 5, windows: ['60/day'] },
      forecast(exactly(100), upTo(100)),
      { reason: 'late: the quota of 60 requests a day leaves 60 requests of 100 that are needed', chance: 'certain' },
    ],
  ])('the end of a run comes by %s', (_what, settings, one, end) => {
    expect(endOf(settings, one)).toMatchObject({ ...end, when: 'on_the_way' });
  });

  it('no run ends where every limit suffices, where the provider may be skipped, and where the pace is slower than a window', () => {
    const needed = forecast(exactly(100), upTo(100), 100);
    expect(endOf({ maxCalls: 200, maxCredits: 100 }, needed)).toBeNull();
    expect(endOf({ maxCalls: 1, maxCredits: 1, onUnavailable: 'skip' }, needed)).toBeNull();
    expect(endOf({ windows: ['1/minute', '60/hour'] }, forecast(exactly(1_000), upTo(0)))).toBeNull();
  });

  it('a limit of the job counts the calls of all providers', () => {
    const end = endOf({}, forecast(exactly(100), upTo(100)), { flags: { 'max-calls': '40' } });
    expect(end).toMatchObject({ code: 'max_calls', reason: 'limits.maxCalls leaves 40 requests of 100 that are needed' });
  });

  it('reserved credits of promised answers count as possible, and not as spent', () => {
    const promised = { enrich: { lookups: 30, answered: 0, charged: 0, settled: 0 } };
    const state = { creditsAtMost: 30, totals: { ...NO_TOTALS, promised } };
    const one = forecast(exactly(30), exactly(10));
    expect(endOf({ maxCredits: 40 }, one, { state })).toBeNull();
    expect(endOf({ maxCredits: 35 }, one, { state })).toMatchObject({ chance: 'possible', reason: expect.stringContaining('up to 40') });
  });

  it('a job with one service has its limits named, too', () => {
    const flags = { input: 'in.csv', output: 'out.csv', rpm: '60', 'base-url': 'http://127.0.0.1:1', 'limits.maxCredits': '10' };
    const needed = neededOfService(compiled({ flags }), { ...CHECKPOINT, creditsAtMost: 4 }, { calls: exactly(20), credits: upTo(20) });
    expect(laterEnd(needed)).toMatchObject({
      code: 'max_credits',
      reason: 'limits.maxCredits leaves 6 credits of up to 20 that are needed',
    });
  });
});
