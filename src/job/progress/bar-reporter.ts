import { servicePace } from '../../definition/job-provider.ts';
import { previewRows } from '../commands/preview.ts';
import type { Reporter } from './reporter.ts';
import { ownRpm } from '../shards/shard-job.ts';
import { paintFor, plain } from './colours.ts';
import { LiveLines, sizeOf, type Terminal } from './live-lines.ts';
import { mayRedraw } from '../../util/may-redraw.ts';
import { progressLine, progressLines, soFar } from './progress-lines.ts';
import { resumesBy } from './resumes-by.ts';
import { snapshots } from './snapshot.ts';
import { summaryTable } from './summary.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { wrapWords } from '../../util/wrap-words.ts';

const REDRAW_MS = 200;
/** Elsewhere than on a terminal the bar cannot be redrawn, so a plain line appears this often. */
const PLAIN_LINE_MS = 10_000;
const PLAIN_COLUMNS = 170;

/** A progress bar for people. @param env decides on colours */
export function barReporter(job: CompiledJob, out: Terminal, env: NodeJS.ProcessEnv): Reporter {
  const live = mayRedraw(out, env);
  const lines = new LiveLines(out);
  const paint = paintFor(out, env);
  let timer: NodeJS.Timeout | null = null;
  let preview: Promise<string[]> = Promise.resolve([]);
  let draw: () => void = () => undefined;
  const erase = (): void => {
    if (live) lines.erase();
  };
  const say = (text: string): void => {
    erase();
    out.write(`${text}\n`);
  };
  const wrapped = (text: string): string => (live ? wrapWords(text, sizeOf(out).columns, '  ').join('\n') : text);
  const stop = (): void => {
    if (timer === null) return;
    erase();
    clearInterval(timer);
    timer = null;
  };
  return {
    detail: () => undefined,
    info: (_event, text) => say(wrapped(text)),
    warn: (_event, text) => say(wrapped(`warning: ${text}`).replace('warning:', (word) => paint('yellow', word))),
    start: (parts) => {
      const { checkpoint, resumed } = parts;
      if (resumed) say(`Resuming ${job.name} after ${soFar(checkpoint.mark.tally.total, checkpoint.totals.lookups.unique)}.`);
      const snapshot = snapshots(parts, ownRpm(servicePace(parts.job), parts.checkpoint), parts.job.limits.limit, () => performance.now());
      draw = () => {
        const now = snapshot();
        if (!live) {
          out.write(`${progressLine(job.name, now)}\n`);
          return;
        }
        const size = sizeOf(out);
        const lengths = progressLines(job.name, now, size, plain).map(({ length }) => length);
        lines.draw(progressLines(job.name, now, size, paint), lengths);
      };
      timer = setInterval(draw, live ? REDRAW_MS : PLAIN_LINE_MS);
    },
    stop,
    stopped: (report) => {
      stop();
      say(`Stopped after ${soFar(report.records.total, report.lookups.unique)}; ${resumesBy(job)}.`);
    },
    finished: (report, paths) => {
      stop();
      say(summaryTable(report, paths));
      if (paths !== null) preview = previewRows(paths.output, job, live ? sizeOf(out).columns : PLAIN_COLUMNS);
    },
    done: (report, paths, why) => {
      say(`${why.charAt(0).toUpperCase()}${why.slice(1)}.\n${summaryTable(report, paths)}`);
      preview = previewRows(paths.output, job, live ? sizeOf(out).columns : PLAIN_COLUMNS);
    },
    close: async () => {
      stop();
      const rows = await preview;
      if (rows.length > 0) say(`\n${rows.join('\n')}`);
    },
  };
}
