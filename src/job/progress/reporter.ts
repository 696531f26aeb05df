import type { JobPaths } from '../lifecycle/paths.ts';
import type { Report } from '../report/report.ts';
import type { RunMessages } from './run-messages.ts';
import type { WatchedRun } from './snapshot.ts';

/** Shows a run to its user. Everything goes to standard error; standard output carries data only. */
export interface Reporter extends RunMessages {
  /** The run begins: shows progress from here on. */
  start(parts: WatchedRun): void;
  /** Ends the progress. */
  stop(): void;
  /** The run stopped early; `report` has its totals so far. */
  stopped(report: Report): void;
  finished(report: Report, paths: Pick<JobPaths, 'report' | 'errors' | 'output'> | null): void;
  /**
   * Nothing was called. @param why a sentence without its capital and its full stop @param isNew the result was put in place just now,
   * after the run that wrote it was killed
   */
  done(report: Report, paths: Pick<JobPaths, 'report' | 'errors' | 'output'>, why: string, isNew: boolean): void;
  close(): Promise<void>;
}
