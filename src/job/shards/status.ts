/** How far the shards of a job are, one by one and together. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { currentHolder } from '../../checkpoint/job-lock.ts';
import { FILES_AT_ONCE } from '../../reader/limits.ts';
import { sideBySide } from '../../reader/side-by-side.ts';
import type { JobPaths } from '../paths.ts';
import type { CompiledJob } from '../types.ts';
import { joinedCheckpoint } from './merge.ts';
import { readParts, type Part } from './parts.ts';
import { recordsOf, shardName } from './shard-job.ts';
import type { ShardPlan } from './shard-plan.ts';

export interface ShardStatus {
  /** Such as `0/4`. */
  readonly shard: string;
  readonly state: 'not_started' | 'running' | 'stopped' | 'finished';
  /** Rows written, of so many. */
  readonly rows: number;
  readonly of: number;
  readonly updatedAt: string | null;
}

export interface ShardsStatus {
  readonly shards: readonly ShardStatus[];
  /** All of them together. */
  readonly checkpoint: Checkpoint;
  readonly state: 'running' | 'stopped';
  /** 0..1, of the records. */
  readonly share: number;
}

/** @throws InputError, StorageError */
export async function statusOfShards(job: CompiledJob, paths: JobPaths, plan: ShardPlan, now: number): Promise<ShardsStatus> {
  const parts = await readParts(job, plan);
  const shards = await sideBySide(parts, FILES_AT_ONCE, (part, index) => statusOf(part, shardName({ index, of: plan.of }), recordsOf(job, plan, index), now));
  const all = shards.reduce((sum, { of }) => sum + of, 0);
  const rows = shards.reduce((sum, shard) => sum + shard.rows, 0);
  // While nobody works on a shard, one may be sharing the job out, or joining it.
  const held = shards.some(({ state }) => state === 'running') || (await currentHolder(paths.lock, now)) !== null;
  return {
    shards,
    checkpoint: joinedCheckpoint(job, paths, plan, parts.flatMap(({ checkpoint }) => (checkpoint === null ? [] : [checkpoint]))),
    state: held ? 'running' : 'stopped',
    share: all === 0 ? 1 : rows / all,
  };
}

async function statusOf({ paths, checkpoint, finished }: Part, shard: string, of: number, now: number): Promise<ShardStatus> {
  const held = (await currentHolder(paths.lock, now)) !== null;
  const state = finished ? 'finished' : held ? 'running' : checkpoint === null ? 'not_started' : 'stopped';
  return { shard, state, rows: (checkpoint?.result ?? checkpoint?.mark)?.tally.total ?? 0, of, updatedAt: checkpoint?.updatedAt ?? null };
}
