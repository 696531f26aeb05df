import { CallSeries } from '../../checkpoint/call-series.ts';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { servicePace } from '../../definition/job-provider.ts';
import { smallestClaimedWindow } from '../../limiter/rules/quota-windows.ts';
import { ownWindows, shareOfPlan } from '../shards/shard-job.ts';
import { CallBudget } from './call-budget.ts';
import { Counters } from './counters.ts';
import type { RunDestination } from './destination.ts';

interface RunToCount {
  readonly job: CompiledJob;
  /** Where the run begins. */
  readonly checkpoint: Checkpoint;
  readonly wasKilled: boolean;
  readonly destination: Pick<RunDestination, 'saveCheckpoint'>;
}

/** The counters of the run, over all its resumes, and the budget of calls that it may still send. */
export function openCounters(
  { job, checkpoint, wasKilled, destination }: RunToCount,
  saveTotals: () => Promise<void>,
): { readonly counters: Counters; readonly budget: CallBudget } {
  const pace = servicePace(job);
  const now = (): number => performance.now();
  const series = new CallSeries({
    from: checkpoint.totals.series,
    rpm: pace.rpm === null ? null : pace.rpm * shareOfPlan(checkpoint),
    nowMs: now(),
    wallMs: Date.now(),
  });
  const counters = new Counters(checkpoint.totals, now, series, dearest(job));
  if (wasKilled) counters.afterKill(0);
  const budget = new CallBudget({
    maxCalls: job.limits.maxCalls,
    maxCredits: job.limits.maxCredits,
    windowCalls: smallestClaimedWindow(ownWindows(pace, checkpoint)),
    counters,
    // Calls and credits that the last run had claimed, and may have spent before it was killed.
    uncounted: {
      calls: Math.max(0, checkpoint.callsAtMost - counters.allCalls),
      credits: Math.max(0, checkpoint.creditsAtMost - counters.creditsAtMost),
    },
    record: destination.saveCheckpoint === null ? null : saveTotals,
  });
  return { counters, budget };
}

/** The most credits that a lookup costs at any of the job's providers. */
function dearest({ providers, steps }: CompiledJob): Record<string, number> {
  return Object.fromEntries(
    steps.map((step) => [step, Math.max(1, ...providers.map(({ definition }) => definition.operations[step]?.creditsAtMost ?? 1))]),
  );
}
