import { servicePace } from '../../definition/job-provider.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { ownRpm } from '../shards/shard-job.ts';
import type { Terminal } from './live-lines.ts';
import { progressLine, soFar } from './progress-lines.ts';
import type { Reporter } from './reporter.ts';
import { resumesBy } from './resumes-by.ts';
import { snapshots } from './snapshot.ts';
import { summaryTable } from './summary.ts';

const PROGRESS_EVERY_MS = 10_000;
/** Levels at which only warnings are written, and at which not even these are. */
const WARNINGS_ALONE: readonly string[] = ['warn'];
const NOTHING: readonly string[] = ['error', 'fatal', 'silent'];

/** Lines for people where there is no terminal: one every 10 s with the time in UTC, and the summary at the end. No row is shown. */
export function plainReporter(job: CompiledJob, out: Pick<Terminal, 'write'>, level: string): Reporter {
  const showsWarnings = !NOTHING.includes(level);
  const showsAll = showsWarnings && !WARNINGS_ALONE.includes(level);
  let timer: NodeJS.Timeout | null = null;
  const write = (text: string): void => void out.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);
  const say = (text: string): void => {
    if (showsAll) write(text);
  };
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  return {
    detail: (_event, text) => say(text),
    info: (_event, text) => say(text),
    warn: (_event, text) => {
      if (showsWarnings) write(`warning: ${text}`);
    },
    start: (parts) => {
      const { checkpoint, resumed } = parts;
      const { mark, totals } = checkpoint;
      say(resumed ? `Resuming ${job.name} after ${soFar(mark.tally.total, totals.lookups.unique)}.` : `Started ${job.name}.`);
      const snapshot = snapshots(parts, ownRpm(servicePace(parts.job), checkpoint), parts.job.limits.limit, () => performance.now());
      timer = setInterval(() => say(progressLine(job.name, snapshot())), PROGRESS_EVERY_MS);
    },
    stop,
    stopped: ({ records, lookups }) => {
      stop();
      say(`Stopped after ${soFar(records.total, lookups.unique)}; ${resumesBy(job)}.`);
    },
    finished: (report, paths) => {
      stop();
      say(`Finished ${job.name}.\n${summaryTable(report, paths)}`);
    },
    done: (report, paths, why) => say(`${why.charAt(0).toUpperCase()}${why.slice(1)}.\n${summaryTable(report, paths)}`),
    close: async () => stop(),
  };
}
