/** The events of a job that a program runs. */
import type { Report } from '../job/report/report.ts';
import type { WaitReason } from '../util/waits.ts';

/** The counts of a run at one moment. They include those of earlier starts of the job. */
export interface JobProgress {
  /** Records in the output, and those of each outcome. */
  readonly records: number;
  readonly outcomes: Readonly<Record<'matched' | 'no_match' | 'invalid' | 'suppressed' | 'failed', number>>;
  /** Records that were read and are not yet in the output. */
  readonly inProgress: number;
  /** All records of the job, perhaps an estimate; null while nothing is known. */
  readonly expected: number | null;
  /** Records in the output as a share of all, 0 to 1. */
  readonly share: number;
  readonly recordsPerSecond: number;
  readonly callsPerSecond: number;
  readonly retries: number;
  /** Null while no estimate is possible. */
  readonly etaMs: number | null;
  /** Why no request is sent; null while requests are sent. `what` completes "waiting for ...". */
  readonly waiting: { readonly reason: WaitReason; readonly what: string; readonly leftMs: number | null } | null;
}

/** One event. `started` comes first; `finished`, `stopped` or `nothing_to_do` is the last one. */
export type JobEvent =
  | { readonly type: 'started'; readonly job: string; readonly run: string; readonly resumed: boolean }
  /** Once a second. */
  | { readonly type: 'progress'; readonly progress: JobProgress }
  /** `code` is stable, `message` is for people. They may come before `started`. */
  | { readonly type: 'notice' | 'warning'; readonly code: string; readonly message: string }
  | { readonly type: 'finished' | 'stopped'; readonly report: Report }
  /** The job was finished before, or there was no input. */
  | { readonly type: 'nothing_to_do'; readonly report: Report; readonly message: string };
