import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { RunLedgerOptions } from '../ledger/open-run-ledger.ts';
import type { CompiledJob } from './types.ts';

/** What a run, as its checkpoint has it, may use of a ledger. */
export function ledgerRights(job: CompiledJob, { run, startedAt, retry }: Checkpoint): Pick<RunLedgerOptions, 'job' | 'run' | 'maxAgeDays' | 'now' | 'failedUpTo' | 'since' | 'maxOutageMs'> {
  const failedUpTo = retry?.failedUpTo ?? 0;
  return { job: job.name, run, maxAgeDays: job.ledger.maxAgeDays, now: Date.now, failedUpTo, since: Math.max(Date.parse(startedAt), failedUpTo + 1), maxOutageMs: job.limits.maxOutageMs };
}
