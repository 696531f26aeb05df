import { previewRows } from '../commands/preview.ts';
import type { Reporter } from './reporter.ts';
import { ownRpm } from '../shards/shard-job.ts';
import { snapshots, type HeldUp, type Snapshot } from './snapshot.ts';
import { summaryTable } from './summary.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { count, duration } from '../../util/display.ts';

const REDRAW_MS = 200;
/** Elsewhere than on a terminal the bar cannot be redrawn, so a plain line appears this often. */
const PLAIN_LINE_MS = 5_000;
const BAR_WIDTH = 24;
const NARROWEST = 20;
const USUAL_WIDTH = 100;

/** Where the bar is drawn: standard error, or a stand-in for it. */
interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** A progress bar for people. */
export function barReporter(job: CompiledJob, out: Terminal): Reporter {
  const live = out.isTTY === true;
  let timer: NodeJS.Timeout | null = null;
  let preview: Promise<string[]> = Promise.resolve([]);
  let draw: () => void = () => undefined;
  const erase = (): void => {
    if (live && timer !== null) out.write('\r\x1b[2K');
  };
  const say = (text: string): void => {
    erase();
    out.write(`${text}\n`);
  };
  const stop = (): void => {
    if (timer === null) return;
    erase();
    clearInterval(timer);
    timer = null;
  };
  return {
    detail: () => undefined,
    info: (_event, text) => say(text),
    warn: (_event, text) => say(`warning: ${text}`),
    start: (parts) => {
      const { checkpoint, resumed } = parts;
      if (resumed) say(`Resuming ${job.name} after ${soFar(checkpoint.mark.tally.total, checkpoint.totals.lookups.unique)}.`);
      const snapshot = snapshots(parts, ownRpm(parts.job, parts.checkpoint), parts.job.limits.limit, () => performance.now());
      draw = () => {
        const line = progressLine(job.name, snapshot());
        out.write(live ? `\r\x1b[2K${line.slice(0, Math.max(NARROWEST, widthOf(out) - 1))}` : `${line}\n`);
      };
      timer = setInterval(draw, live ? REDRAW_MS : PLAIN_LINE_MS);
    },
    stop,
    stopped: (report) => {
      stop();
      say(`Stopped after ${soFar(report.records.total, report.lookups.unique)}; the same command resumes.`);
    },
    finished: (report, paths) => {
      stop();
      say(summaryTable(report, paths));
      if (paths !== null) preview = previewRows(paths.output, job);
    },
    done: (report, paths, why) => {
      say(`${why.charAt(0).toUpperCase()}${why.slice(1)}.\n${summaryTable(report, paths)}`);
      preview = previewRows(paths.output, job);
    },
    close: async () => {
      stop();
      const lines = await preview;
      if (lines.length > 0) say(`\n${lines.join('\n')}`);
    },
  };
}

/** With verify the first rows come late: the lookups show that the work before them is not lost. */
function soFar(rows: number, lookups: number): string {
  return `${count(rows)} rows and ${count(lookups)} lookups`;
}

/** Some terminals, such as a container's, report 0 columns: then the usual width counts. */
function widthOf({ columns = 0 }: Terminal): number {
  return columns > 0 ? columns : USUAL_WIDTH;
}

/** One line: name, bar, share, the wait (early, so that a narrow terminal shows it), rows, rate, quota used, ETA, outcomes. */
export function progressLine(name: string, now: Snapshot): string {
  const parts = [
    `${name} [${barOf(now)}] ${Math.floor(now.share * 100)}%`,
    ...(now.heldUp === null ? [] : [formatWait(now.heldUp)]),
    `${formatDone(now)}${now.inProgress > 0 ? ` + ${count(now.inProgress)} in progress` : ''}`,
    `${count(Math.round(now.callsPerSecond))} requests/s`,
  ];
  if (now.quotaShare !== null) parts.push(`quota ${Math.round(now.quotaShare * 100)}%`);
  if (now.heldUp === null && now.etaMs !== null && now.share < 1) parts.push(`ETA ${duration(now.etaMs)}`);
  const outcomes = Object.entries(now.tally.outcomes).filter(([, n]) => n > 0);
  if (outcomes.length > 0) parts.push(outcomes.map(([outcome, n]) => `${outcome} ${count(n)}`).join(' '));
  if (now.retries > 0) parts.push(`retries ${count(now.retries)}`);
  if (now.throttled.events > 0) parts.push(`throttled ${count(now.throttled.events)} (${duration(now.throttled.waitedMs)})`);
  if (now.verifyRequests !== undefined)
    parts.push(`verify ${count(now.verifyRequests.addresses)} a request (${count(now.verifyRequests.tooLarge)} too large)`);
  return parts.join(' · ');
}

/** Written records, then records in progress: with verify, thousands are looked up before the first row can be written. */
function barOf({ share, expected, inProgress }: Snapshot): string {
  const filled = Math.round(share * BAR_WIDTH);
  const begun = expected === null || expected.records === 0 ? share : Math.min(1, share + inProgress / expected.records);
  const shaded = Math.max(0, Math.round(begun * BAR_WIDTH) - filled);
  return `${'█'.repeat(filled)}${'▒'.repeat(shaded)}${'░'.repeat(BAR_WIDTH - filled - shaded)}`;
}

/** Such as `1,024 of 2,500 records`. */
function formatDone({ done, expected }: Snapshot): string {
  return `${count(done)}${expected === null ? '' : ` of ${expected.isExact ? '' : 'about '}${count(expected.records)}`} records`;
}

function formatWait(held: HeldUp): string {
  const left = held.leftMs === null ? '' : `, ${duration(held.leftMs)} left`;
  switch (held.by) {
    case 'outage':
      return (
        ((held.lastLookups ?? null) === null ? 'SERVICE DOWN' : `LAST LOOKUPS FAIL (${held.lastLookups})`) +
        `, ${held.leftMs !== null && held.leftMs > 0 ? `next probe in ${duration(held.leftMs)}` : 'probing'}` +
        ` (for ${duration(held.forMs)})`
      );
    case 'throttled':
      return `THROTTLED${left}`;
    case 'quota':
      return `quota used up${left}`;
    default:
      return `waiting for ${held.what}${left}`;
  }
}
