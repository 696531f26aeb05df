/** Shows a run to a program: each thing that a terminal would show is an event. */
import { servicePace } from '../definition/job-provider.ts';
import type { Reporter } from '../job/progress/reporter.ts';
import { snapshots, type Snapshot } from '../job/progress/snapshot.ts';
import { ownRpm } from '../job/shards/shard-job.ts';
import type { JobEvent, JobProgress } from './job-events.ts';

const PROGRESS_EVERY_MS = 1_000;

/** @param emit takes each event, and must not throw */
export function eventReporter(emit: (event: JobEvent) => void): Reporter {
  let timer: NodeJS.Timeout | null = null;
  const stop = (): void => {
    if (timer !== null) clearInterval(timer);
    timer = null;
  };
  return {
    detail: () => undefined,
    info: (code, message) => emit({ type: 'notice', code, message }),
    warn: (code, message) => emit({ type: 'warning', code, message }),
    start: (parts) => {
      const { job, checkpoint, resumed } = parts;
      const look = snapshots(parts, ownRpm(servicePace(job), checkpoint), job.limits.limit, () => performance.now());
      emit({ type: 'started', job: job.name, run: checkpoint.run, resumed });
      timer = setInterval(() => emit({ type: 'progress', progress: progressOf(look()) }), PROGRESS_EVERY_MS);
    },
    stop,
    stopped: (report) => emit({ type: 'stopped', report }),
    finished: (report) => emit({ type: 'finished', report }),
    done: (report, _paths, message) => emit({ type: 'nothing_to_do', report, message }),
    close: async () => stop(),
  };
}

function progressOf(snapshot: Snapshot): JobProgress {
  const { tally, inProgress, expected, share, rowsPerSecond, callsPerSecond, retries, etaMs, heldUp } = snapshot;
  return {
    records: tally.total,
    outcomes: { ...tally.outcomes },
    inProgress,
    expected: expected?.records ?? null,
    share,
    recordsPerSecond: rowsPerSecond,
    callsPerSecond,
    retries,
    etaMs,
    waiting: heldUp === null ? null : { reason: heldUp.by, what: heldUp.what, leftMs: heldUp.leftMs },
  };
}
