/** The limit or quota that would end a run before its first request. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { describeWindow } from '../../limiter/inference/long-window.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import { count } from '../../util/display.ts';
import { EXIT } from '../../util/errors.ts';

/** How a run would end at once. */
export interface EarlyEnd {
  readonly exitCode: number;
  readonly reason: string;
}

type Limited = Pick<CompiledJob, 'limits' | 'providers'>;

/**
 * @param asked the providers that the run would ask first; null: the one service of the job
 * @param nowMs epoch milliseconds
 * @returns null when the run could send requests
 */
export function earlyEnd(job: Limited, checkpoint: Checkpoint, asked: readonly string[] | null, nowMs: number): EarlyEnd | null {
  const { limits } = job;
  const reached =
    limitReached('limits.', limits, checkpoint) ?? (asked === null ? usedUp([checkpoint.spent], limits.maxWaitMs, nowMs, '') : null);
  if (reached !== null || asked === null) return reached;
  for (const { name, onUnavailable, ...provider } of job.providers) {
    const state = checkpoint.providers?.[name];
    // A run goes on without a provider that may be skipped.
    if (state === undefined || onUnavailable === 'skip' || !asked.includes(name)) continue;
    const end =
      limitReached(`providers.${name}.`, provider, state) ?? usedUp(Object.values(state.spent), limits.maxWaitMs, nowMs, `${name}: `);
    if (end !== null) return end;
  }
  return null;
}

function limitReached(
  prefix: string,
  { maxCalls, maxCredits }: Pick<CompiledJob['limits'], 'maxCalls' | 'maxCredits'>,
  { callsAtMost, creditsAtMost }: Pick<Checkpoint, 'callsAtMost' | 'creditsAtMost'>,
): EarlyEnd | null {
  if (maxCalls !== null && callsAtMost >= maxCalls)
    return {
      exitCode: EXIT.refused,
      reason: `${prefix}maxCalls is reached: ${count(callsAtMost)} of ${count(maxCalls)} calls were sent`,
    };
  if (maxCredits !== null && creditsAtMost >= maxCredits)
    return {
      exitCode: EXIT.refused,
      reason: `${prefix}maxCredits is reached: ${count(creditsAtMost)} of ${count(maxCredits)} credits are spent`,
    };
  return null;
}

function usedUp(quotas: readonly (SavedQuota | null)[], maxWaitMs: number, nowMs: number, prefix: string): EarlyEnd | null {
  for (const window of quotas.flatMap((quota) => quota?.windows ?? [])) {
    const { opensAtMs = -Infinity } = window;
    if (opensAtMs - nowMs <= maxWaitMs) continue;
    const until = new Date(opensAtMs).toISOString();
    return { exitCode: EXIT.unavailable, reason: `${prefix}the ${describeWindow(window)} is used up until ${until}` };
  }
  return null;
}
