import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { RunLedgerOptions } from '../ledger/open-run-ledger.ts';
import { isShared } from '../ledger/place.ts';
import { keySeed } from './idempotency-keys.ts';
import type { CompiledJob } from './types.ts';

/** What a run, as its checkpoint has it, may use of a ledger. */
export function ledgerRights(job: CompiledJob, checkpoint: Checkpoint): Pick<RunLedgerOptions, 'job' | 'run' | 'claimant' | 'keySeed' | 'shared' | 'maxAgeDays' | 'now' | 'failedUpTo' | 'since' | 'maxOutageMs'> {
  const { run, startedAt, retry, shard } = checkpoint;
  const failedUpTo = retry?.failedUpTo ?? 0;
  // In one file all shards are one run. Elsewhere each is known by a name of its own, under which it asks and writes.
  const own = shard === null ? run : `${run}-${shard.index}`;
  return { job: job.name, run: isShared(job.ledger.uri) ? own : run, claimant: own, keySeed: keySeed(checkpoint), shared: shard !== null, maxAgeDays: job.ledger.maxAgeDays, now: Date.now, failedUpTo, since: Math.max(Date.parse(startedAt), failedUpTo + 1), maxOutageMs: job.limits.maxOutageMs };
}
