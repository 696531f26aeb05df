import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { RunLedgerOptions } from '../../ledger/open-run-ledger.ts';
import { isShared } from '../../definition/ledger-location.ts';
import { keySeed } from './idempotency-keys.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

/** Which answers of a ledger a run may use, and under which names it writes and claims. */
export function ledgerRights(
  job: CompiledJob,
  checkpoint: Checkpoint,
): Pick<
  RunLedgerOptions,
  'job' | 'run' | 'claimant' | 'keySeed' | 'shared' | 'maxAgeDays' | 'now' | 'failedUpTo' | 'since' | 'maxOutageMs'
> {
  const { run, startedAt, retry, shard } = checkpoint;
  const failedUpTo = retry?.failedUpTo ?? 0;
  // In one file all shards are one run. In a shared ledger each shard claims and writes under its own name.
  const own = shard === null ? run : `${run}-${shard.index}`;
  return {
    job: job.name,
    run: isShared(job.ledger.uri) ? own : run,
    claimant: own,
    keySeed: keySeed(checkpoint),
    shared: shard !== null,
    maxAgeDays: job.ledger.maxAgeDays,
    now: Date.now,
    failedUpTo,
    since: Math.max(Date.parse(startedAt), failedUpTo + 1),
    maxOutageMs: job.limits.maxOutageMs,
  };
}
