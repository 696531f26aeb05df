import type { CompiledJob, RunOptions } from '../../definition/compiled-job.ts';
import type { Reporter } from './reporter.ts';

/** A bar on a terminal, log lines otherwise; `--progress` decides differently. Loads only what is used. */
export async function openReporter(job: CompiledJob, options: Pick<RunOptions, 'progress' | 'logLevel' | 'logFormat'>): Promise<Reporter> {
  const mode = options.progress === 'auto' ? (process.stderr.isTTY ? 'bar' : 'log') : options.progress;
  switch (mode) {
    case 'bar': {
      const { barReporter } = await import('./bar-reporter.ts');
      return barReporter(job, process.stderr, process.env);
    }
    case 'log': {
      if (options.logFormat === 'plain') {
        const { plainReporter } = await import('./plain-reporter.ts');
        return plainReporter(job, process.stderr, options.logLevel);
      }
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

/** No progress; warnings still appear. */
const silent: Reporter = {
  detail: nothing,
  info: nothing,
  warn: (_event, text) => process.stderr.write(`warning: ${text}\n`),
  start: nothing,
  stop: nothing,
  stopped: nothing,
  finished: nothing,
  done: nothing,
  close: async () => undefined,
};
