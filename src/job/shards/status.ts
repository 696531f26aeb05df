import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { currentHolder } from '../../lock/job-lock.ts';
import { FILES_AT_ONCE } from '../../formats/limits.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { joinedCheckpoint } from './merge.ts';
import { readParts, type ShardState } from './parts.ts';
import { recordsOf, shardName } from './shard-job.ts';
import type { ShardPlan } from './shard-plan.ts';

interface ShardStatus {
  /** Such as `0/4`. */
  readonly shard: string;
  readonly state: 'not_started' | 'running' | 'stopped' | 'finished';
  /** Rows written. */
  readonly rows: number;
  /** Rows that the shard will have. */
  readonly of: number;
  readonly updatedAt: string | null;
}

export interface ShardsStatus {
  readonly shards: readonly ShardStatus[];
  /** The sum of all shards. */
  readonly checkpoint: Checkpoint;
  readonly state: 'running' | 'stopped';
  /** Written rows as a share of all records, 0 to 1. */
  readonly share: number;
}

/** @throws InputError, StorageError */
export async function statusOfShards(job: CompiledJob, paths: JobPaths, plan: ShardPlan, now: number): Promise<ShardsStatus> {
  const parts = await readParts(job, plan);
  const shards = await mapConcurrently(parts, FILES_AT_ONCE, (part, index) =>
    statusOf(part, shardName({ index, of: plan.of }), recordsOf(job, plan, index), now),
  );
  const all = shards.reduce((sum, { of }) => sum + of, 0);
  const rows = shards.reduce((sum, shard) => sum + shard.rows, 0);
  // While no shard runs, a process may be making the plan, or joining the parts.
  const held = shards.some(({ state }) => state === 'running') || (await currentHolder(paths.lock, now)) !== null;
  return {
    shards,
    checkpoint: joinedCheckpoint(
      job,
      paths,
      plan,
      parts.flatMap(({ checkpoint }) => (checkpoint === null ? [] : [checkpoint])),
    ),
    state: held ? 'running' : 'stopped',
    share: all === 0 ? 1 : rows / all,
  };
}

async function statusOf({ paths, checkpoint, finished }: ShardState, shard: string, of: number, now: number): Promise<ShardStatus> {
  const held = (await currentHolder(paths.lock, now)) !== null;
  const state = finished ? 'finished' : held ? 'running' : checkpoint === null ? 'not_started' : 'stopped';
  return { shard, state, rows: (checkpoint?.result ?? checkpoint?.mark)?.tally.total ?? 0, of, updatedAt: checkpoint?.updatedAt ?? null };
}
