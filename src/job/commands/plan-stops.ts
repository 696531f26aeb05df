/** The limit or quota that would end a run before its first request, or on its way. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { reservedCredits } from '../../checkpoint/promised-totals.ts';
import type { CompiledJob, JobProvider } from '../../definition/compiled-job.ts';
import { describeWindow } from '../../limiter/inference/long-window.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import type { Step } from '../../steps/registry.ts';
import { count } from '../../util/display.ts';
import { EXIT } from '../../util/errors.ts';
import { PROVIDER_LIMIT } from '../run/in-provider.ts';

/** How a run would end. */
export interface EarlyEnd {
  readonly exitCode: number;
  /** The error code of the run. */
  readonly code: string;
  readonly reason: string;
  /**
   * `certain`: whatever the answers are. `expected`: by the match rates. `possible`: where lookups match, or earlier providers miss, more
   * often.
   */
  readonly chance: 'certain' | 'expected' | 'possible';
  /** `at_once`: before its first request. */
  readonly when: 'at_once' | 'on_the_way';
}

type Limited = Pick<CompiledJob, 'limits' | 'providers'>;
type Limits = Pick<CompiledJob['limits'], 'maxCalls' | 'maxCredits'>;
type State = Pick<Checkpoint, 'callsAtMost' | 'creditsAtMost' | 'totals'>;

/** A limit in the words of the job: its code and what its names begin with. */
export interface LimitNames {
  readonly prefix: string;
  /** Null for the job's own: the code of each limit. */
  readonly code: string | null;
}

export const OF_JOB: LimitNames = { prefix: 'limits.', code: null };
export const ofProvider = (name: string): LimitNames => ({ prefix: `providers.${name}.`, code: PROVIDER_LIMIT });

/**
 * @param asked the providers that the run would ask first; null: the one service of the job
 * @param nowMs epoch milliseconds
 * @returns null when the run could send requests
 */
export function earlyEnd(job: Limited, checkpoint: Checkpoint, asked: readonly string[] | null, nowMs: number): EarlyEnd | null {
  const { limits } = job;
  const reached =
    limitReached(OF_JOB, limits, checkpoint, reservedOf(job.providers, checkpoint)) ??
    (asked === null ? usedUp([checkpoint.spent], limits.maxWaitMs, nowMs, '') : null);
  if (reached !== null || asked === null) return reached;
  for (const provider of job.providers) {
    const { name, onUnavailable } = provider;
    const state = checkpoint.providers?.[name];
    // A run goes on without a provider that may be skipped.
    if (state === undefined || onUnavailable === 'skip' || !asked.includes(name)) continue;
    const end =
      limitReached(ofProvider(name), provider, state, reservedAt(provider, state)) ??
      usedUp(Object.values(state.spent), limits.maxWaitMs, nowMs, `${name}: `);
    if (end !== null) return end;
  }
  return null;
}

/** Credits that open answers of a provider may still cost. */
export function reservedAt({ definition }: Pick<JobProvider, 'definition'>, { totals }: Pick<State, 'totals'>): number {
  return reservedCredits(Object.entries(totals.promised ?? {}), (step) => definition.operations[step as Step]?.creditsAtMost ?? 1);
}

/** The same of all providers. */
export function reservedOf(providers: readonly JobProvider[], { providers: states = {} }: Pick<Checkpoint, 'providers'>): number {
  return providers.reduce((sum, provider) => {
    const state = states[provider.name];
    return state === undefined ? sum : sum + reservedAt(provider, state);
  }, 0);
}

function limitReached({ prefix, code }: LimitNames, { maxCalls, maxCredits }: Limits, state: State, reserved: number): EarlyEnd | null {
  const { callsAtMost } = state;
  const ended = { exitCode: EXIT.refused, chance: 'certain', when: 'at_once' } as const;
  if (maxCalls !== null && callsAtMost >= maxCalls)
    return {
      ...ended,
      code: code ?? 'max_calls',
      reason: `${prefix}maxCalls is reached: ${count(callsAtMost)} of ${count(maxCalls)} calls were sent`,
    };
  // Credits that are reserved for promised answers may become free when they come.
  const spent = state.creditsAtMost - reserved;
  if (maxCredits !== null && spent >= maxCredits)
    return {
      ...ended,
      code: code ?? 'max_credits',
      reason: `${prefix}maxCredits is reached: ${count(spent)} of ${count(maxCredits)} credits are spent`,
    };
  return null;
}

function usedUp(quotas: readonly (SavedQuota | null)[], maxWaitMs: number, nowMs: number, prefix: string): EarlyEnd | null {
  for (const window of quotas.flatMap((quota) => quota?.windows ?? [])) {
    const { opensAtMs = -Infinity } = window;
    if (opensAtMs - nowMs <= maxWaitMs) continue;
    const until = new Date(opensAtMs).toISOString();
    return {
      exitCode: EXIT.unavailable,
      code: 'wait_too_long',
      reason: `${prefix}the ${describeWindow(window)} is used up until ${until}`,
      chance: 'certain',
      when: 'at_once',
    };
  }
  return null;
}
