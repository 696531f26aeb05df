/** Snapshots of a run for the progress line, the log and the monitor. */
import type { Checkpoint, ExpectedRecords } from '../../checkpoint/checkpoint-file.ts';
import type { Tally } from '../../writer/tally.ts';
import type { Counters } from '../run/counters.ts';
import { Eta } from './eta.ts';
import { expectedRecords, recordsDone, shareDone } from '../../checkpoint/expected-records.ts';
import type { ProviderView, RunLimiter, RunPool } from '../run/channel-views.ts';
import type { RowWriter } from '../run/destination.ts';
import type { RecordLoop } from '../run/loop.ts';
import type { RunCheckpoints } from '../run/run-checkpoints.ts';
import type { SilenceWatch } from './silence.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { WaitReason } from '../../util/waits.ts';

/** A run, as far as progress, monitor and report look at it. */
export interface WatchedRun {
  /** The whole job, or the job of a shard. */
  readonly job: CompiledJob;
  readonly checkpoint: Checkpoint;
  readonly resumed: boolean;
  readonly limiter: RunLimiter;
  readonly pool: RunPool;
  readonly loop: Pick<RecordLoop, 'lastStarted' | 'lastWritten' | 'hasReadAll' | 'inProgress' | 'onTheWay' | 'oldestMs'>;
  readonly writer: Pick<RowWriter, 'tally'>;
  readonly checkpoints: Pick<RunCheckpoints, 'lastSaved'>;
  readonly counters: Counters;
  /** The waits of the run; left out before it is watched. */
  readonly silence?: SilenceWatch;
  /** Providers that the job names; left out, or empty, for a job with one service. */
  readonly providers?: readonly ProviderView[];
}

/** Counts at one moment. */
export interface Counts {
  readonly tally: Tally;
  /** Records read and not yet written. */
  readonly inProgress: number;
  /** The outcomes of rows, and of records in progress as far as they are decided. */
  readonly outcomes: Tally['outcomes'];
  readonly retries: number;
  readonly throttled: { readonly events: number; readonly waitedMs: number };
  /** How many calls may be in flight at once. */
  readonly concurrency: number;
  /** Only where verify requests were too large for the service: addresses in one request now, and how many were too large. */
  readonly verifyRequests?: { readonly addresses: number; readonly tooLarge: number };
  readonly heldUp: HeldUp | null;
}

export interface Snapshot extends Counts {
  /** Written records; a retry counts the records that it has reached. */
  readonly done: number;
  /** The records of the job; null while no estimate is possible. */
  readonly expected: ExpectedRecords | null;
  /** The share of the work that is done, 0 to 1: of written records, and of those in progress by their settled steps. */
  readonly share: number;
  /** Rows a second since the last snapshot. */
  readonly rowsPerSecond: number;
  readonly callsPerSecond: number;
  /** Calls a minute as a share of the plan's rate; null when the plan is unlimited. */
  readonly quotaShare: number | null;
  readonly etaMs: number | null;
}

/** Why no request is sent, and for how long. */
export interface HeldUp {
  readonly by: WaitReason;
  /** Completes "waiting for ...". */
  readonly what: string;
  /** How long the wait has lasted, or the service has been down, as far as that is known. Milliseconds. */
  readonly forMs: number;
  /** Milliseconds until it ends, or until the next probe (0 while a probe is in flight); null when unknown. */
  readonly leftMs: number | null;
  /** During an outage: see `CallPool.outage`. */
  readonly lastLookups?: string | null;
}

/** Completes "waiting for ...". @param lastLookups see `CallPool.outage` */
export function formatOutage(lastLookups: string | null): string {
  return lastLookups === null
    ? 'the service, which is down'
    : `the last lookups, which fail (${lastLookups}): the service is down, or fails for these alone`;
}

/** An outage, a pause and a used-up quota show at once; other waits when no request was sent for some seconds. */
function heldUp({ limiter, pool, silence }: WatchedRun): HeldUp | null {
  const { outage } = pool;
  const forMs = silence?.silentMs ?? 0;
  if (outage !== null)
    return {
      by: 'outage',
      what: formatOutage(outage.lastLookups),
      forMs: outage.forMs,
      leftMs: outage.probeInMs,
      lastLookups: outage.lastLookups,
    };
  const throttledMs = limiter.throttledMs();
  const pausedMs = limiter.pausedMs();
  if (pausedMs > 0)
    return {
      by: throttledMs > 0 ? 'throttled' : 'quota',
      what: limiter.pausedFor(),
      forMs,
      leftMs: throttledMs > 0 ? throttledMs : pausedMs,
    };
  const wait = silence?.silence?.wait;
  return wait === undefined ? null : { by: wait.reason, what: wait.what, forMs, leftMs: silence?.leftMs ?? null };
}

export function countsOf(source: WatchedRun): Counts {
  const { counters, loop, pool, writer } = source;
  const verify = counters.requestSize('verify');
  return {
    tally: writer.tally,
    inProgress: loop.inProgress,
    outcomes: outcomesOf(writer.tally, loop.onTheWay.outcomes),
    retries: counters.retries,
    throttled: { events: counters.throttledEvents, waitedMs: counters.waitedMs },
    concurrency: pool.concurrency,
    ...(verify.tooLarge > 0 && verify.kept !== null ? { verifyRequests: { addresses: verify.kept.size, tooLarge: verify.tooLarge } } : {}),
    heldUp: heldUp(source),
  };
}

function outcomesOf({ outcomes }: Tally, onTheWay: Readonly<Record<string, number>>): Tally['outcomes'] {
  const all = Object.entries(outcomes).map(([outcome, rows]) => [outcome, rows + (onTheWay[outcome] ?? 0)]);
  return Object.fromEntries(all) as Tally['outcomes'];
}

/** Weight of a new reading in the shown rate, which should change slowly. */
const SMOOTHING = 0.2;

/** Makes snapshots; each call measures the time since the last one. @param now monotonic milliseconds */
export function snapshots(source: WatchedRun, rpm: number | null, limit: number | null, now: () => number): () => Snapshot {
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
    const smooth = (before: number | null, reading: number): number =>
      before === null ? reading : before + SMOOTHING * (reading - before);
    const done = doneOf(source);
    rowsPerSecond = smooth(rowsPerSecond, (done - last.rows) / seconds);
    callsPerSecond = smooth(callsPerSecond, (counters.callsNow - last.calls) / seconds);
    last = { at, rows: done, calls: counters.callsNow };
    const counts = countsOf(source);
    const expected = expectedOf(source, limit);
    const { limiter, pool } = source;
    return {
      ...counts,
      done,
      expected,
      share: shareDone(done + source.loop.onTheWay.settled, expected),
      rowsPerSecond,
      callsPerSecond,
      quotaShare: rpm === null ? null : Math.min(1, (callsPerSecond * 60) / rpm),
      etaMs:
        expected === null
          ? null
          : eta.look({
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

/** Waits during which nothing can be sent: they do not count for the speed of the run. */
const STOPPED_BY: ReadonlySet<WaitReason> = new Set<WaitReason>(['lock', 'outage', 'throttled', 'redis', 'storage']);

function doneOf({ checkpoint, loop, writer }: WatchedRun): number {
  return recordsDone(checkpoint, writer.tally.total, loop.lastWritten ?? checkpoint.mark.position);
}

/** @param limit `limits.limit` as it is for this run */
export function expectedOf(
  { checkpoint, loop, writer }: Pick<WatchedRun, 'checkpoint' | 'loop' | 'writer'>,
  limit: number | null,
): ExpectedRecords | null {
  return expectedRecords(checkpoint, {
    records: writer.tally.total + loop.inProgress,
    upTo: loop.lastStarted ?? checkpoint.mark.position,
    isAll: loop.hasReadAll,
    limit,
  });
}
