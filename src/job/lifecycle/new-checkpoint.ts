import { randomUUID } from 'node:crypto';
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { NO_TOTALS } from '../../checkpoint/run-totals.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { START_MARK } from '../../writer/resume-point.ts';
import type { JobPaths } from './paths.ts';
import { newLedgerKey } from './service-origin.ts';

/** The checkpoint of a new run, before its first record. @param shard the part of a run in shards */
export function newCheckpoint(
  job: CompiledJob,
  paths: JobPaths,
  manifest: InputManifest,
  generation: number,
  now: Date,
  shard: Checkpoint['shard'] = null,
): Checkpoint {
  return {
    version: 1,
    job: job.name,
    output: paths.output,
    fingerprint: job.fingerprint,
    generation,
    run: randomUUID(),
    manifest,
    limit: job.limits.limit,
    state: 'running',
    startedAt: now.toISOString(),
    updatedAt: now.toISOString(),
    finishedAt: null,
    exitCode: null,
    mark: { ...START_MARK, position: shard?.from ?? null },
    totals: NO_TOTALS,
    trusted: false,
    answered: false,
    spent: null,
    result: null,
    callsAtMost: 0,
    creditsAtMost: 0,
    ...newLedgerKey(job),
    retry: null,
    shard,
  };
}
