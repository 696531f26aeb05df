/** Calls and credits that a run needs, beside what each limit leaves, and the limit that ends it on its way. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { NEW_PROVIDER } from '../../checkpoint/provider-state.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { paceOf, providerChannels, servicePace, serviceOf, type Pace } from '../../definition/job-provider.ts';
import { describeWindow } from '../../limiter/inference/long-window.ts';
import { count } from '../../util/display.ts';
import { EXIT } from '../../util/errors.ts';
import { sumOf, type ProviderForecast, type Range } from './plan-providers.ts';
import { OF_JOB, ofProvider, reservedAt, reservedOf, type EarlyEnd, type LimitNames } from './plan-stops.ts';

/** The need of a run for something that a limit bounds. */
export interface NeededSpending extends Range {
  readonly exitCode: number;
  /** The error code of a run that reaches the limit. */
  readonly code: string;
  /** Its name, such as `limits.maxCalls`. */
  readonly limit: string;
  readonly unit: 'requests' | 'credits';
  readonly left: number;
}

/** The spending of a run, or of one of its providers. */
export interface Spending {
  readonly calls: Range;
  readonly credits: Range;
}

type Limits = Pick<CompiledJob['limits'], 'maxCalls' | 'maxCredits'>;
type State = Pick<Checkpoint, 'callsAtMost' | 'creditsAtMost'>;

/** For a job with one service. */
export function neededOfService(job: CompiledJob, checkpoint: Checkpoint, spending: Spending): NeededSpending[] {
  const service = serviceOf(job);
  const pace = servicePace(job);
  return [
    ...ofLimits(OF_JOB, job.limits, checkpoint, spending, 0),
    ...(service === null ? [] : ofWindows('', pace, job.limits.maxWaitMs, spending.calls)),
  ];
}

/** For a job that names its providers. A provider that may be skipped ends no run. */
export function neededOfProviders(
  job: CompiledJob,
  checkpoint: Checkpoint,
  forecasts: Readonly<Record<string, ProviderForecast>>,
): NeededSpending[] {
  const spendings = job.providers.map((provider) => {
    const forecast = forecasts[provider.name];
    return { provider, forecast, spending: forecast === undefined ? null : spendingOf(forecast) };
  });
  const all = spendings.flatMap(({ spending }) => spending ?? []);
  const sum = { calls: sumOf(all.map(({ calls }) => calls)), credits: sumOf(all.map(({ credits }) => credits)) };
  return [
    ...ofLimits(OF_JOB, job.limits, checkpoint, sum, reservedOf(job.providers, checkpoint)),
    ...spendings.flatMap(({ provider, forecast, spending }) => {
      if (forecast === undefined || spending === null || provider.onUnavailable === 'skip') return [];
      const state = checkpoint.providers?.[provider.name] ?? NEW_PROVIDER;
      const windows = providerChannels(provider, job).flatMap(({ quota, steps }) => {
        const calls = sumOf(steps.flatMap((step) => forecast.steps[step] ?? []).map(callsOf));
        return ofWindows(`${provider.name}: `, paceOf(provider, quota), job.limits.maxWaitMs, calls);
      });
      return [...ofLimits(ofProvider(provider.name), provider, state, spending, reservedAt(provider, state)), ...windows];
    }),
  ];
}

function spendingOf({ requests, polls, credits }: ProviderForecast): Spending {
  return { calls: callsOf({ requests, ...(polls === undefined ? {} : { polls }) }), credits };
}

/** Requests and polls: a quota counts both. */
function callsOf({ requests: { atMost, expected }, polls = 0 }: Pick<ProviderForecast, 'requests' | 'polls'>): Range {
  return { atMost: atMost + polls, expected: expected === null ? null : expected + polls };
}

/** @param reserved for promised answers: they may cost that much, or nothing */
function ofLimits(
  { prefix, code }: LimitNames,
  { maxCalls, maxCredits }: Limits,
  { callsAtMost, creditsAtMost }: State,
  { calls, credits }: Spending,
  reserved: number,
): NeededSpending[] {
  const of = (limit: string, own: string): Pick<NeededSpending, 'exitCode' | 'limit' | 'code'> => ({
    exitCode: EXIT.refused,
    code: code ?? own,
    limit: `${prefix}${limit}`,
  });
  return [
    ...(maxCalls === null ? [] : [{ ...of('maxCalls', 'max_calls'), unit: 'requests' as const, left: maxCalls - callsAtMost, ...calls }]),
    ...(maxCredits === null
      ? []
      : [
          {
            ...of('maxCredits', 'max_credits'),
            unit: 'credits' as const,
            left: maxCredits - (creditsAtMost - reserved),
            expected: credits.expected,
            atMost: credits.atMost + reserved,
          },
        ]),
  ];
}

/** Windows that stay closed for longer than the run may wait, as far as the pace lets a run use them up. */
function ofWindows(prefix: string, { rpm, windows }: Pace, maxWaitMs: number, { atMost, expected }: Range): NeededSpending[] {
  return windows
    .filter(({ periodMs }) => periodMs > maxWaitMs)
    .map((window) => {
      const most = rpm === null ? Infinity : (rpm / 60_000) * window.periodMs;
      return {
        exitCode: EXIT.unavailable,
        code: 'wait_too_long',
        limit: `${prefix}the ${describeWindow(window)}`,
        unit: 'requests' as const,
        left: window.limit,
        atMost: Math.min(atMost, most),
        expected: expected === null ? null : Math.min(expected, most),
      };
    });
}

const CHANCES = ['certain', 'expected', 'possible'] as const;

/** The limit that ends a run on its way: the most certain one, and of several the one that is reached first. Null where all suffice. */
export function laterEnd(needed: readonly NeededSpending[]): EarlyEnd | null {
  const ends = needed.flatMap((one) => {
    const chance = chanceOf(one);
    return chance === null ? [] : [{ ...one, chance, isReachedAt: one.left / Math.max(1, one.expected ?? one.atMost) }];
  });
  const [first] = ends.toSorted(
    (one, other) => CHANCES.indexOf(one.chance) - CHANCES.indexOf(other.chance) || one.isReachedAt - other.isReachedAt,
  );
  if (first === undefined) return null;
  const { exitCode, code, limit, unit, left, expected, atMost, chance } = first;
  const amount = chance === 'possible' ? `up to ${count(atMost)}` : `${chance === 'expected' ? 'about ' : ''}${count(expected ?? atMost)}`;
  return {
    exitCode,
    code,
    reason: `${limit} leaves ${count(Math.max(0, left))} ${unit} of ${amount} that are needed`,
    chance,
    when: 'on_the_way',
  };
}

function chanceOf({ left, expected, atMost }: NeededSpending): EarlyEnd['chance'] | null {
  if (expected !== null && expected > left) return expected >= atMost ? 'certain' : 'expected';
  return atMost > left ? 'possible' : null;
}
