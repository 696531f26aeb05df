/** Where a run, a retry or a shard begins. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { JobPaths } from './paths.ts';

/** How a run begins. */
export type Start =
  /**
   * From the beginning, or where it stopped. `isFirst`: the job has no checkpoint.
   * `reopen`: a finished pilot continues, see `reopenOutput`. `notice`: a warning for the user.
   */
  | {
      readonly kind: 'go';
      readonly checkpoint: Checkpoint;
      readonly isFirst: boolean;
      readonly resumed: boolean;
      readonly reopen: boolean;
      readonly notice: string | null;
    }
  /** All rows are written; only the last renames are missing. */
  | { readonly kind: 'finish'; readonly checkpoint: Checkpoint }
  /**
   * Finished, and nothing is left to do. `because`: the message for the user. `isNew`: this process has put the result in place, because
   * the run that wrote it was killed before that.
   */
  | { readonly kind: 'done'; readonly checkpoint: Checkpoint; readonly because: string; readonly isNew?: boolean };

export interface StartOptions {
  readonly fresh: boolean;
  /** The generation of a run in shards that was given up for this one: no checkpoint has it. */
  readonly generationBefore?: number;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/** How a run, a retry or a shard decides where it begins. */
export type DecideStart = (job: CompiledJob, paths: JobPaths, options: StartOptions) => Promise<Start>;

/** A start from this checkpoint. */
export function go(checkpoint: Checkpoint): Start & { kind: 'go' } {
  return { kind: 'go', checkpoint, isFirst: false, resumed: false, reopen: false, notice: null };
}
