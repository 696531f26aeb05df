/** The shard plan: one file beside the job's checkpoint. The first shard writes it, and the join removes it. */
import type { Fence } from '../../storage/fence.ts';
import { InputError, MillraceError, StorageError, storageHint } from '../../util/errors.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { storageOf } from '../../storage/storage-of.ts';
import type { RunBeforeShards, Sharing } from './shard-job.ts';

const VERSION = { fromTheStart: 1, afterRun: 2 } as const;
/** Like a checkpoint, it names all files of the input. */
const LARGEST_BYTES = 256 * 1024 * 1024;

export interface ShardPlan extends Sharing {
  readonly version: (typeof VERSION)[keyof typeof VERSION];
  readonly job: string;
  /** Absolute path of the joined output. */
  readonly output: string;
  readonly fingerprint: Readonly<Record<string, unknown>>;
  readonly generation: number;
  /** The run of all shards, over all their resumes, and of the joined job. */
  readonly run: string;
  readonly startedAt: string;
  /** Left out when the run begins with its shards. */
  readonly before?: RunBeforeShards;
  readonly manifest: InputManifest;
}

export function newShardPlan(plan: Omit<ShardPlan, 'version'>): ShardPlan {
  return { version: plan.before === undefined ? VERSION.fromTheStart : VERSION.afterRun, ...plan };
}

/** True when both plans split the same part of the same run. */
export function isSamePlan(one: ShardPlan, other: ShardPlan): boolean {
  return one.run === other.run && one.before?.finishedAt === other.before?.finishedAt;
}

/**
 * Null when the job has no shards, or when it starts over and the file is damaged.
 * @throws InputError when the file is not a shard plan, StorageError
 */
export async function readShardPlan(path: string, fresh = false): Promise<ShardPlan | null> {
  let text: string | null;
  try {
    text = await (await storageOf(path)).readText(path, LARGEST_BYTES);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('checkpoint_unreadable', `${path} could not be read: ${(error as Error).message}`, {
      hint: storageHint(error),
      cause: error,
    });
  }
  if (text === null) return null;
  const plan = parse(text);
  if (plan !== null || fresh) return plan;
  throw new InputError('checkpoint_invalid', `${path} is not how this version of Millrace shares out a job`, {
    hint: 'Start over with millrace run --fresh (shard 0 first): what was paid for stays in the ledger.',
  });
}

/** @throws StorageError, or 75 when the job was lost */
export async function writeShardPlan(path: string, plan: ShardPlan, fence: Fence): Promise<void> {
  try {
    await (await storageOf(path)).replaceText(path, `${JSON.stringify(plan)}\n`, fence);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('checkpoint_failed', `${path} could not be written: ${(error as Error).message}`, {
      hint: storageHint(error),
      cause: error,
    });
  }
}

function parse(text: string): ShardPlan | null {
  try {
    const plan = JSON.parse(text) as Partial<ShardPlan> | null;
    const whole =
      (plan?.version === VERSION.fromTheStart || (plan?.version === VERSION.afterRun && typeof plan.before === 'object')) &&
      typeof plan.run === 'string' &&
      typeof plan.of === 'number' &&
      Array.isArray(plan.ranges) &&
      plan.ranges.length === plan.of &&
      Array.isArray(plan.manifest?.files);
    return whole ? (plan as ShardPlan) : null;
  } catch {
    return null;
  }
}
