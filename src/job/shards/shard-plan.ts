/** How a job is shared out: one file beside its checkpoint, made by whichever shard comes first, and gone when the job is whole. */
import type { Fence } from '../../checkpoint/fence.ts';
import { InputError, MillraceError, StorageError, storageHint } from '../../errors.ts';
import type { InputManifest } from '../../reader/types.ts';
import { storageOf } from '../../storage/storages.ts';
import type { Before, Sharing } from './shard-job.ts';

/** Versions of before know the first of these alone, and would take the checkpoint of the run before the shards for the joined one. */
const VERSION = { fromTheStart: 1, afterRun: 2 } as const;
/** Like a checkpoint, it names all files of the input. */
const LARGEST_BYTES = 256 * 1024 * 1024;

export interface ShardPlan extends Sharing {
  readonly version: (typeof VERSION)[keyof typeof VERSION];
  readonly job: string;
  /** Absolute path of the output that the shards make together. */
  readonly output: string;
  readonly fingerprint: Readonly<Record<string, unknown>>;
  readonly generation: number;
  /** Names the run of all shards, over all their resumes, and in the end the job that is joined of them. */
  readonly run: string;
  readonly startedAt: string;
  /** Left out: the run begins with its shards. */
  readonly before?: Before;
  readonly manifest: InputManifest;
}

export function newShardPlan(plan: Omit<ShardPlan, 'version'>): ShardPlan {
  return { version: plan.before === undefined ? VERSION.fromTheStart : VERSION.afterRun, ...plan };
}

/** Whether both share out the same part of the same run. */
export function isSamePlan(one: ShardPlan, other: ShardPlan): boolean {
  return one.run === other.run && one.before?.finishedAt === other.before?.finishedAt;
}

/** Null: the job is not being done in shards, or starts over and the file cannot be read. @throws InputError when the file is none of ours, StorageError */
export async function readShardPlan(path: string, fresh = false): Promise<ShardPlan | null> {
  let text: string | null;
  try {
    text = await (await storageOf(path)).readText(path, LARGEST_BYTES);
  } catch (error) {
    if (error instanceof MillraceError) throw error;
    throw new StorageError('checkpoint_unreadable', `${path} could not be read: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
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
    throw new StorageError('checkpoint_failed', `${path} could not be written: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
  }
}

function parse(text: string): ShardPlan | null {
  try {
    const plan = JSON.parse(text) as Partial<ShardPlan> | null;
    const whole = (plan?.version === VERSION.fromTheStart || (plan?.version === VERSION.afterRun && typeof plan.before === 'object')) && typeof plan.run === 'string' && typeof plan.of === 'number' && Array.isArray(plan.ranges) && plan.ranges.length === plan.of && Array.isArray(plan.manifest?.files);
    return whole ? (plan as ShardPlan) : null;
  } catch {
    return null;
  }
}
