import type { JobPaths } from './paths.ts';
import type { Report } from './report.ts';
import type { Running } from './snapshot.ts';
import type { CompiledJob, RunOptions } from './types.ts';

/** What a run tells whoever watches it. Everything goes to standard error; standard output carries data only. */
export interface Reporter {
  /** For the log alone: nobody at a terminal waits for it. */
  detail(event: string, text: string): void;
  info(event: string, text: string): void;
  warn(event: string, text: string): void;
  /** The run begins: progress is shown from here on. */
  start(running: Running): void;
  /** No more progress. */
  stop(): void;
  /** The run stopped early; `report` is how far it came. */
  stopped(report: Report): void;
  finished(report: Report, paths: Pick<JobPaths, 'report' | 'errors' | 'output'> | null): void;
  /** Nothing was called, because of `why`: a sentence without its capital and its stop. */
  done(report: Report, paths: Pick<JobPaths, 'report' | 'errors' | 'output'>, why: string): void;
  close(): Promise<void>;
}

/** A bar on a terminal, JSON lines otherwise; `--progress` decides differently. Loads only what is used. */
export async function openReporter(job: CompiledJob, options: RunOptions): Promise<Reporter> {
  const mode = options.progress === 'auto' ? (process.stderr.isTTY ? 'bar' : 'log') : options.progress;
  switch (mode) {
    case 'bar': {
      const { barReporter } = await import('./bar-reporter.ts');
      return barReporter(job, process.stderr);
    }
    case 'log': {
      const { logReporter } = await import('./log-reporter.ts');
      return logReporter(job, options.logLevel);
    }
    case 'none':
      return silent;
    default:
      return mode satisfies never;
  }
}

const nothing = (): void => undefined;

/** No progress, but nothing that somebody must know is lost. */
const silent: Reporter = {
  detail: nothing, info: nothing, warn: (_event, text) => process.stderr.write(`warning: ${text}\n`),
  start: nothing, stop: nothing, stopped: nothing, finished: nothing, done: nothing, close: async () => undefined,
};
