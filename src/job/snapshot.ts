/** What the progress line shows, taken from the running parts. */
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { Tally } from '../writer/tally.ts';
import type { Counters } from './counters.ts';
import { Eta } from './eta.ts';
import { expectedRecords, recordsDone, shareDone, type ExpectedRecords } from './expected-records.ts';
import type { RowSink } from './job-parts.ts';
import type { RunningJob } from './run-job.ts';
import type { SilenceWatch } from './silence.ts';
import type { CompiledJob } from './types.ts';
import type { WaitReason } from '../waits.ts';

export interface Running {
  /** What runs: the whole job, or a shard of it. */
  readonly job: CompiledJob;
  readonly checkpoint: Checkpoint;
  readonly resumed: boolean;
  readonly running: Pick<RunningJob, 'limiter' | 'pool' | 'lastStarted' | 'lastWritten' | 'lastKept' | 'hasReadAll' | 'inProgress' | 'oldestMs'>;
  readonly counters: Counters;
  readonly sink: Pick<RowSink, 'tally'>;
  /** Tells what the run waits for; left out: nobody watches. */
  readonly silence?: SilenceWatch;
}

/** What is so now. */
export interface Counts {
  readonly tally: Tally;
  /** Records read and not yet written. */
  readonly inProgress: number;
  readonly retries: number;
  readonly throttled: { readonly events: number; readonly waitedMs: number };
  /** How many calls may be in flight at once. */
  readonly concurrency: number;
  /** Only where verify requests were too large for the service: addresses in one now, and how many were. */
  readonly verifyRequests?: { readonly addresses: number; readonly tooLarge: number };
  readonly heldUp: HeldUp | null;
}

export interface Snapshot extends Counts {
  /** Records that are written: of a retry, those that it has come to. */
  readonly done: number;
  /** The records of the job; null: nothing can be said yet. */
  readonly expected: ExpectedRecords | null;
  /** Of these, how many are written, 0..1: what `millrace status` says as well. */
  readonly share: number;
  /** Rows a second since the last snapshot. */
  readonly rowsPerSecond: number;
  readonly callsPerSecond: number;
  /** Calls a minute now, of those the plan allows; null when it is unlimited. */
  readonly quotaShare: number | null;
  readonly etaMs: number | null;
}

/** Why nothing is sent, and for how long. */
export interface HeldUp {
  readonly by: WaitReason;
  /** Completes "waiting for ...". */
  readonly what: string;
  /** How long that has lasted, as far as it is known; of an outage: how long the service has been down. Milliseconds. */
  readonly forMs: number;
  /** Milliseconds until it ends, or until the next probe (0: one is under way); null: nobody knows. */
  readonly leftMs: number | null;
  /** Of an outage: see `CallPool.outage`. */
  readonly lastLookups?: string | null;
}

/** Completes "waiting for ...". @param lastLookups see `CallPool.outage` */
export function outageWords(lastLookups: string | null): string {
  return lastLookups === null ? 'the service, which is down' : `the last lookups, which fail (${lastLookups}): the service is down, or fails for these alone`;
}

/** An outage, a pause and a quota that is used up show at once; everything else when nothing was sent for some seconds. */
function heldUp({ running: { limiter, pool }, silence }: Running): HeldUp | null {
  const { outage } = pool;
  const forMs = silence?.silentMs ?? 0;
  if (outage !== null) return { by: 'outage', what: outageWords(outage.lastLookups), forMs: outage.forMs, leftMs: outage.probeInMs, lastLookups: outage.lastLookups };
  const throttledMs = limiter.throttledMs();
  if (throttledMs > 0) return { by: 'throttled', what: 'the end of the pause that the service asked for', forMs, leftMs: throttledMs };
  const pausedMs = limiter.pausedMs();
  if (pausedMs > 0) return { by: 'quota', what: 'the quota, which is used up', forMs, leftMs: pausedMs };
  const wait = silence?.silence?.wait;
  return wait === undefined ? null : { by: wait.reason, what: wait.what, forMs, leftMs: silence?.leftMs ?? null };
}

export function countsOf(source: Running): Counts {
  const { counters, running, sink } = source;
  return {
    tally: sink.tally,
    inProgress: running.inProgress,
    retries: counters.retries,
    throttled: { events: counters.throttledEvents, waitedMs: counters.waitedMs },
    concurrency: running.pool.concurrency,
    ...(counters.verifyTooLarge > 0 && counters.verifySize !== null ? { verifyRequests: { addresses: counters.verifySize.size, tooLarge: counters.verifyTooLarge } } : {}),
    heldUp: heldUp(source),
  };
}

/** How much of the remembered rate a new reading replaces: the shown rate stays calm. */
const SMOOTHING = 0.2;

/** Makes snapshots; each call measures the time since the one before. `now`: monotonic milliseconds. */
export function snapshots(source: Running, rpm: number | null, limit: number | null, now: () => number): () => Snapshot {
  const { checkpoint, counters } = source;
  let last = { at: now(), rows: doneOf(source), calls: counters.callsNow };
  const doneBefore = last.rows;
  const callsBefore = last.calls;
  const eta = new Eta(rpm);
  let rowsPerSecond: number | null = null;
  let callsPerSecond: number | null = null;
  return () => {
    const at = now();
    const seconds = Math.max(0.001, (at - last.at) / 1_000);
    const smooth = (before: number | null, reading: number): number => (before === null ? reading : before + SMOOTHING * (reading - before));
    const done = doneOf(source);
    rowsPerSecond = smooth(rowsPerSecond, (done - last.rows) / seconds);
    callsPerSecond = smooth(callsPerSecond, (counters.callsNow - last.calls) / seconds);
    last = { at, rows: done, calls: counters.callsNow };
    const counts = countsOf(source);
    const expected = expectedOf(source, limit);
    const { limiter, pool } = source.running;
    return {
      ...counts,
      done,
      expected,
      share: shareDone(done, expected),
      rowsPerSecond,
      callsPerSecond,
      quotaShare: rpm === null ? null : Math.min(1, (callsPerSecond * 60) / rpm),
      etaMs: expected === null ? null : eta.look({
        nowMs: at,
        heldUpMs: counts.heldUp !== null && STOPPED_BY.has(counts.heldUp.by) ? (counts.heldUp.leftMs ?? 0) : null,
        quotaWaitMs: limiter.pausedMs(),
        burstLeft: checkpoint.shard === null ? limiter.burst : 0,
        sent: counters.callsNow - callsBefore,
        queued: pool.waiting,
        started: done - doneBefore + counts.inProgress,
        left: Math.max(0, expected.records - done - counts.inProgress),
        unwritten: expected.records - done,
        verify: source.job.steps.includes('verify') ? counters.verifyNow : null,
      }),
    };
  };
}

/** Waits during which nothing can be sent, so that they say nothing of how fast the run is. */
const STOPPED_BY: ReadonlySet<WaitReason> = new Set<WaitReason>(['lock', 'outage', 'throttled', 'redis', 'storage']);

function doneOf({ checkpoint, running, sink }: Running): number {
  return recordsDone(checkpoint, sink.tally.total, running.lastWritten ?? checkpoint.mark.position);
}

/** @param limit `limits.limit` as it is for this run */
export function expectedOf({ checkpoint, running, sink }: Pick<Running, 'checkpoint' | 'running' | 'sink'>, limit: number | null): ExpectedRecords | null {
  return expectedRecords(checkpoint, { records: sink.tally.total + running.inProgress, upTo: running.lastStarted ?? checkpoint.mark.position, isAll: running.hasReadAll, limit });
}
