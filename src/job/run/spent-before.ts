/** Calls of earlier runs that still count against the quota. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { Pace } from '../../definition/job-provider.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import { addUncountedCalls } from '../../limiter/rules/quota-windows.ts';
import { ownRpm } from '../shards/shard-job.ts';

/**
 * Calls that the last run has spent. A killed run may have sent calls after its last checkpoint, until the next one was due.
 * So it counts as if it had spent the whole minute of the plan, and all calls that it had claimed in a longer window (`CallBudget`).
 * @param last the state of the calls' quota in the checkpoint of the last run
 * @param wasKilled the last run could not write its last checkpoint
 * @param nowMs epoch milliseconds
 */
export function spentBefore(
  job: Pick<CompiledJob, 'checkpoint' | 'limits'>,
  pace: Pace,
  last: Pick<Checkpoint, 'spent' | 'callsAtMost' | 'shard'>,
  wasKilled: boolean,
  nowMs: number,
): SavedQuota | null {
  if (last.spent === null) return null;
  const rpm = ownRpm(pace, last);
  const { later, windows = [], sent = last.callsAtMost, ...spent } = last.spent;
  const killedAtMs = spent.savedAtMs + job.checkpoint.everyMs;
  const kept = wasKilled ? addUncountedCalls(windows, Math.max(0, last.callsAtMost - sent), killedAtMs, nowMs) : windows;
  return {
    ...spent,
    minute: rpm === null ? [] : wasKilled ? [[killedAtMs, rpm]] : spent.minute,
    ...(kept.length === 0 ? {} : { windows: kept }),
    // A pause longer than `limits.maxWaitMs` has ended the last run: one call asks whether the service still wants it.
    ...(later === undefined ? {} : { later: later.forMs > job.limits.maxWaitMs ? { ...later, untilMs: 0 } : later }),
  };
}
