/** One shard of a job, as a job of its own: its part of the input, its share of the limits, its own files. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { InputRange } from '../../reader/cuts.ts';
import { SHARD_MARK } from '../paths.ts';
import type { CompiledJob, Shard } from '../types.ts';
import type { StatedWindow } from '../../limiter/quota-windows.ts';

/** What a run had come to when it was shared out with a higher limit: its checkpoint then. */
export type Before = Pick<Checkpoint, 'totals' | 'callsAtMost' | 'trusted' | 'answered' | 'spent' | 'finishedAt'>;

/** What the shards of a job have in common. */
export interface Sharing {
  readonly of: number;
  readonly before?: Pick<Before, 'callsAtMost'>;
  /** One a shard. */
  readonly ranges: readonly InputRange[];
}

/** `2/4`, as the flag says it. */
export function shardName({ index, of }: Shard): string {
  return `${index}/${of}`;
}

/**
 * The job that shard `index` runs. What fails is judged when all shards are through, so no number of failures is too
 * many for one.
 */
export function shardJob(job: CompiledJob, sharing: Sharing, index: number): CompiledJob {
  const { of } = sharing;
  const suffix = `${SHARD_MARK}${index}-of-${of}`;
  return {
    ...job,
    output: { ...job.output, uri: `${job.output.uri}${suffix}` },
    checkpoint: { ...job.checkpoint, uri: `${job.checkpoint.uri}${suffix}` },
    limits: { ...job.limits, limit: recordsOf(job, sharing, index), maxCalls: callsOf(job, sharing, index), maxErrors: { share: 1 } },
  };
}

/** Records of a shard: `limits.limit` means the first ones of the whole input. */
export function recordsOf({ limits: { limit } }: Pick<CompiledJob, 'limits'>, { ranges }: Sharing, index: number): number {
  const { before, records } = rangeOf(ranges, index);
  return limit === null ? records : Math.max(0, Math.min(records, limit - before));
}

export function rangeOf(ranges: readonly InputRange[], index: number): InputRange {
  const range = ranges[index];
  if (range === undefined) throw new RangeError(`there is no shard ${index} of ${ranges.length}`);
  return range;
}

/** A shard's share of what is left of `limits.maxCalls`, by its records. The shares add up to it. */
function callsOf(job: CompiledJob, sharing: Sharing, index: number): number | null {
  const { maxCalls } = job.limits;
  if (maxCalls === null) return null;
  const left = Math.max(0, maxCalls - (sharing.before?.callsAtMost ?? 0));
  const counts = sharing.ranges.map((_, i) => recordsOf(job, sharing, i));
  const upTo = (end: number): number => counts.slice(0, end).reduce((sum, count) => sum + count, 0);
  const all = upTo(counts.length);
  const share = (records: number): number => (all === 0 ? 0 : Math.floor(left * (records / all)));
  return share(upTo(index + 1)) - share(upTo(index));
}

/** Requests a minute that are a run's own: of a shard its part of the plan, where nothing shares out the whole. Null: unlimited. */
export function ownRpm({ service: { rpm, quota } }: Pick<CompiledJob, 'service'>, { shard }: Pick<Checkpoint, 'shard'>): number | null {
  return rpm === null || shard === null || quota !== null ? rpm : Math.max(1, Math.floor(rpm / shard.of));
}

/** Windows that the job states: of a shard its part. Each run counts its own calls in them, and `service.quota` shares the plan's minute alone. */
export function ownWindows({ service: { windows } }: Pick<CompiledJob, 'service'>, { shard }: Pick<Checkpoint, 'shard'>): readonly StatedWindow[] {
  return shard === null ? windows : windows.map(({ limit, periodMs }) => ({ limit: Math.max(1, Math.floor(limit / shard.of)), periodMs }));
}
