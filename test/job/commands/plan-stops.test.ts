import { describe, expect, it } from 'vitest';
import type { JobProvider } from '../../../src/definition/compiled-job.ts';
import { earlyEnd } from '../../../src/job/commands/plan-stops.ts';
import { NEW_PROVIDER } from '../../../src/checkpoint/provider-state.ts';
import { NO_TOTALS } from '../../../src/checkpoint/run-totals.ts';
import { definition } from '../../support/provider-jobs.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { compiled } from '../../definition/support.ts';

const NOW = Date.UTC(2026, 10, 26);
const HOUR = 3_600_000;
const { limits } = compiled({ flags: { input: 'in.csv', output: 'out.csv', rpm: '60', 'base-url': 'http://127.0.0.1:1' } });
const job = { limits, providers: [] };
const day = { periodMs: 24 * HOUR, limit: 300, left: 0, resetAtMs: null, spent: [] };
const spent = (opensInMs: number) => ({ minute: [], savedAtMs: NOW, windows: [{ ...day, opensAtMs: NOW + opensInMs }] });
const provider = (more: Partial<JobProvider>): JobProvider =>
  ({ name: 'pdl', onUnavailable: 'wait', maxCalls: null, maxCredits: 30, definition: definition('pdl'), ...more }) as JobProvider;

describe('a plan of a job that was stopped', () => {
  it.each([
    ['limits.maxCalls is reached: 40 of 40 calls were sent', { maxCalls: 40 }, { callsAtMost: 40 }, 77, 'max_calls'],
    ['limits.maxCredits is reached: 5 of 5 credits are spent', { maxCredits: 5 }, { creditsAtMost: 5 }, 77, 'max_credits'],
    [
      'the quota of 300 requests a day is used up until 2026-11-26T01:00:00.000Z',
      { maxWaitMs: 1_000 },
      { spent: spent(HOUR) },
      69,
      'wait_too_long',
    ],
  ])('names what would end the run: %s', (reason, set, state, exitCode, code) => {
    const checkpoint = { ...CHECKPOINT, ...state };
    expect(earlyEnd({ ...job, limits: { ...limits, ...set } }, checkpoint, null, NOW)).toEqual({
      exitCode,
      code,
      reason,
      chance: 'certain',
      when: 'at_once',
    });
    expect(earlyEnd({ ...job, limits: { ...limits, maxWaitMs: 2 * HOUR } }, checkpoint, null, NOW)).toBeNull();
  });

  it('looks at the providers that are asked first, unless they may be skipped', () => {
    const state = { ...NEW_PROVIDER, creditsAtMost: 30, spent: { enrich: spent(HOUR) } };
    const of = (more: Partial<JobProvider>, asked: string[]) =>
      earlyEnd({ limits, providers: [provider(more)] }, { ...CHECKPOINT, providers: { pdl: state } }, asked, NOW);
    expect(of({}, ['pdl'])).toMatchObject({
      exitCode: 77,
      code: 'provider_limit',
      reason: 'providers.pdl.maxCredits is reached: 30 of 30 credits are spent',
    });
    expect(of({ maxCredits: null }, ['pdl'])?.reason).toBe(
      'pdl: the quota of 300 requests a day is used up until 2026-11-26T01:00:00.000Z',
    );
    expect(of({ maxCredits: 31 }, ['hunter'])).toBeNull();
    expect(of({ onUnavailable: 'skip' }, ['pdl'])).toBeNull();
  });

  it('does not take credits for spent that are reserved for promised answers', () => {
    const promised = { enrich: { lookups: 30, answered: 5, charged: 5, settled: 5 } };
    const state = { ...NEW_PROVIDER, creditsAtMost: 30, totals: { ...NO_TOTALS, credits: 5, promised } };
    const checkpoint = { ...CHECKPOINT, creditsAtMost: 30, providers: { pdl: state } };
    const end = earlyEnd({ limits: { ...limits, maxCredits: 30 }, providers: [provider({})] }, checkpoint, ['pdl'], NOW);
    expect(end).toBeNull();
  });
});
