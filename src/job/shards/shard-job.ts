/** One shard of a job, as a job of its own: its part of the input, its share of the limits, its own files. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { ConfigError } from '../../util/errors.ts';
import type { InputRange } from '../../reader/split-points.ts';
import { SHARD_MARK } from '../lifecycle/paths.ts';
import { eachAlert } from '../../definition/alerts.ts';
import type { CompiledJob, Shard } from '../../definition/compiled-job.ts';
import { paceOf, pollOf, providerChannels, type Pace } from '../../definition/job-provider.ts';
import { describeWindow } from '../../limiter/inference/long-window.ts';
import { count } from '../../util/display.ts';
import { PERIODS_MS } from '../../util/periods.ts';
import type { ProviderPoll, QuotaWindow } from '../../providers/compiled-provider.ts';

/** A finished run that its shards continue with a higher limit: from its checkpoint. */
export type RunBeforeShards = Pick<
  Checkpoint,
  'totals' | 'callsAtMost' | 'creditsAtMost' | 'trusted' | 'answered' | 'missForms' | 'spent' | 'providers' | 'finishedAt'
>;

/** How the shards of a job share its input and its calls. */
export interface Sharing {
  readonly of: number;
  readonly before?: Pick<RunBeforeShards, 'callsAtMost' | 'creditsAtMost' | 'providers'>;
  /** One range for each shard. */
  readonly ranges: readonly InputRange[];
}

/** `2/4`, as in the flag. */
export function shardName({ index, of }: Shard): string {
  return `${index}/${of}`;
}

/**
 * The job that shard `index` runs. `limits.maxErrors` and `alerts` are judged after the join, so a shard alone never
 * fails by them.
 */
export function shardJob(job: CompiledJob, sharing: Sharing, index: number): CompiledJob {
  const { of } = sharing;
  const suffix = `${SHARD_MARK}${index}-of-${of}`;
  const share = shareOf(job, sharing, index);
  return {
    ...job,
    providers: job.providers.map((provider) => ({ ...provider, ...share(provider, sharing.before?.providers?.[provider.name]) })),
    output: { ...job.output, uri: `${job.output.uri}${suffix}`, marker: null, split: null },
    checkpoint: { ...job.checkpoint, uri: `${job.checkpoint.uri}${suffix}` },
    limits: {
      ...job.limits,
      limit: recordsOf(job, sharing, index),
      ...share(job.limits, sharing.before),
      maxErrors: { share: 1 },
    },
    alerts: eachAlert(() => null),
  };
}

/** How many records a shard has: `limits.limit` counts from the start of the whole input. */
export function recordsOf({ limits: { limit } }: Pick<CompiledJob, 'limits'>, { ranges }: Sharing, index: number): number {
  const { before, records } = shardRange(ranges, index);
  return limit === null ? records : Math.max(0, Math.min(records, limit - before));
}

export function shardRange(ranges: readonly InputRange[], index: number): InputRange {
  const range = ranges[index];
  if (range === undefined) throw new RangeError(`there is no shard ${index} of ${ranges.length}`);
  return range;
}

type SpendingLimits = Pick<CompiledJob['limits'], 'maxCalls' | 'maxCredits'>;

/** A shard's share of the calls and credits that limits still allow, by its records. The shares add up to all of them. */
function shareOf(
  job: CompiledJob,
  sharing: Sharing,
  index: number,
): (limits: SpendingLimits, spent: Pick<Checkpoint, 'callsAtMost' | 'creditsAtMost'> | undefined) => SpendingLimits {
  const counts = sharing.ranges.map((_, i) => recordsOf(job, sharing, i));
  const upTo = (end: number): number => counts.slice(0, end).reduce((sum, count) => sum + count, 0);
  const [before, after, all] = [upTo(index), upTo(index + 1), upTo(counts.length)];
  const part = (most: number | null, spent = 0): number | null => {
    if (most === null) return null;
    const left = Math.max(0, most - spent);
    const share = (records: number): number => (all === 0 ? 0 : Math.floor(left * (records / all)));
    return share(after) - share(before);
  };
  return ({ maxCalls, maxCredits }, spent) => ({
    maxCalls: part(maxCalls, spent?.callsAtMost),
    maxCredits: part(maxCredits, spent?.creditsAtMost),
  });
}

/** Requests a minute that are a run's own: a shard gets its part of the plan unless pods share it. Null when unlimited. */
export function ownRpm({ rpm, isShared }: Pick<Pace, 'rpm' | 'isShared'>, { shard }: Pick<Checkpoint, 'shard'>): number | null {
  return rpm === null || shard === null || isShared ? rpm : Math.max(1, Math.floor(rpm / shard.of));
}

/** The windows that the job states; a shard gets its part of those that pods do not share. */
export function ownWindows(
  { windows, isShared }: Pick<Pace, 'windows' | 'isShared'>,
  { shard }: Pick<Checkpoint, 'shard'>,
): readonly QuotaWindow[] {
  if (shard === null) return windows;
  return windows.map((window) => {
    const { limit, periodMs } = window;
    return isShared && isShareable(window) ? window : { limit: Math.max(1, Math.floor(limit / shard.of)), periodMs };
  });
}

/** Promises that a run may have open at once for an operation; a shard has its part. Null: any number. */
export function ownMaxOpen(poll: Pick<ProviderPoll, 'maxOpen'> | null, { shard }: Pick<Checkpoint, 'shard'>): number | null {
  const maxOpen = poll?.maxOpen ?? null;
  return maxOpen === null || shard === null ? maxOpen : Math.max(1, Math.floor(maxOpen / shard.of));
}

/** Whether pods can share a window: their account has the calls of the last minute. */
export function isShareable({ periodMs }: Pick<QuotaWindow, 'periodMs'>): boolean {
  return periodMs <= PERIODS_MS.minute;
}

/** This run's share of the plan, 0 to 1: a shard has one Nth. */
export function shareOfPlan({ shard }: Pick<Checkpoint, 'shard'>): number {
  return 1 / (shard?.of ?? 1);
}

/** @throws ConfigError 78 for a job that `of` shards cannot do together */
export function refuseUnsharable(job: CompiledJob, of: number): void {
  refuseParquet(job);
  for (const provider of job.providers) {
    const whose = job.namesProviders ? provider.name : null;
    const channels = providerChannels(provider, job);
    for (const step of channels.flatMap(({ steps }) => steps)) {
      const maxOpen = pollOf(provider, step)?.maxOpen ?? of;
      if (maxOpen < of) refuseFewOpen(whose, maxOpen, of);
    }
    for (const { quota } of channels.flatMap(({ polls, ...own }) => [own, ...polls])) {
      const { rpm, windows, isShared } = paceOf(provider, quota);
      const all = rpm === null ? windows : [...windows, { limit: rpm, periodMs: PERIODS_MS.minute }];
      const small = all.find((window) => window.limit < of && !(isShared && isShareable(window)));
      if (small !== undefined) refuseSmallWindow(whose, small, of);
    }
  }
}

/** One open promise a shard would be more than the provider permits. */
function refuseFewOpen(provider: string | null, maxOpen: number, of: number): never {
  const whose = provider === null ? 'The service' : `The provider ${provider}`;
  throw new ConfigError(
    'not_in_shards',
    `${whose} permits ${count(maxOpen)} open answers at once, which ${count(of)} shards cannot divide`,
    {
      hint: `Run at most ${count(maxOpen)} shards.`,
    },
  );
}

/** One request a shard would be more than the window permits. */
function refuseSmallWindow(provider: string | null, window: QuotaWindow, of: number): never {
  const whose = provider === null ? 'The service' : `The provider ${provider}`;
  const share = isShareable(window) ? ', or share the quota through Redis (`quota`)' : '';
  throw new ConfigError('not_in_shards', `${whose} has a ${describeWindow(window)}, which ${count(of)} shards cannot divide`, {
    hint: `Run at most ${count(window.limit)} shards${share}.`,
  });
}

/** Row groups of several parts cannot be joined byte for byte. */
function refuseParquet({ output }: Pick<CompiledJob, 'output'>): void {
  if (output.format !== 'parquet') return;
  throw new ConfigError('shards_parquet', 'shards cannot write one Parquet output together', {
    hint: 'Write .jsonl.zst or .csv.gz and convert it, or run the job in one piece. A Parquet input may be split.',
  });
}
