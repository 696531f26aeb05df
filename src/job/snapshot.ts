/** What the progress line shows, taken from the running parts. */
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { InputManifest, Position } from '../reader/types.ts';
import type { Tally } from '../writer/tally.ts';
import type { Counters } from './counters.ts';
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
  readonly running: Pick<RunningJob, 'limiter' | 'pool' | 'lastStarted' | 'lastWritten' | 'lastKept' | 'inProgress' | 'oldestMs'>;
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
  /**
   * How much of the job is done, 0..1: the mean of what has been read and what has been written. Rows leave in order and
   * verify requests fill up, so either alone would stand still for long and then jump.
   */
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
}

const OUTAGE = 'the service, which is down';

/** An outage, a pause and a quota that is used up show at once; everything else when nothing was sent for some seconds. */
function heldUp({ running: { limiter, pool }, silence }: Running): HeldUp | null {
  const { outage } = pool;
  const forMs = silence?.silentMs ?? 0;
  if (outage !== null) return { by: 'outage', what: OUTAGE, forMs: outage.forMs, leftMs: outage.probeInMs };
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

/** How much of the remembered rate a new reading replaces: the shown rate and ETA stay calm. */
const SMOOTHING = 0.2;

/** Makes snapshots; each call measures the time since the one before. `now`: monotonic milliseconds. */
export function snapshots(source: Running, rpm: number | null, limit: number | null, now: () => number): () => Snapshot {
  let last = { at: now(), rows: rowsOf(source), calls: source.counters.callsNow };
  const begun = { at: last.at, calls: last.calls, ...sharesOf(source, limit) };
  let rowsPerSecond: number | null = null;
  let callsPerSecond: number | null = null;
  return () => {
    const at = now();
    const seconds = Math.max(0.001, (at - last.at) / 1_000);
    const smooth = (before: number | null, reading: number): number => (before === null ? reading : before + SMOOTHING * (reading - before));
    const rows = rowsOf(source);
    rowsPerSecond = smooth(rowsPerSecond, (rows - last.rows) / seconds);
    callsPerSecond = smooth(callsPerSecond, (source.counters.callsNow - last.calls) / seconds);
    last = { at, rows, calls: source.counters.callsNow };
    const { read, written } = sharesOf(source, limit);
    // While there is something to read, its pace is the calls' pace; after that, what is left is to be written.
    const [done, before] = read < 1 ? [read, begun.read] : [written, begun.written];
    return {
      ...countsOf(source),
      share: (read + written) / 2,
      rowsPerSecond,
      callsPerSecond,
      quotaShare: rpm === null ? null : Math.min(1, (callsPerSecond * 60) / rpm),
      etaMs: done - before > 0.001 ? Math.max(((at - begun.at) / (done - before)) * (1 - done), atPlanMs(source.counters.callsNow - begun.calls, rpm, (1 - done) / (done - before))) : null,
    };
  };
}

/**
 * How long the calls that are left take at the plan's rate, if each part of the input needs as many as those before: a quota that was whole at the start is
 * spent at once, and its pace does not last. @param left how many times what was done is left
 */
function atPlanMs(calls: number, rpm: number | null, left: number): number {
  return rpm === null ? 0 : Math.max(0, calls * left * 60_000) / rpm;
}

/** Rows written, of a retry too, whose tally counts all of them from the start. */
function rowsOf({ checkpoint, running, sink }: Running): number {
  if (checkpoint.retry === null) return sink.tally.total;
  return (running.lastWritten ?? checkpoint.mark.position)?.finished?.rows ?? 0;
}

/** How much of the input is read, and how much of it is written, 0..1 each. */
function sharesOf(source: Running, limit: number | null): { read: number; written: number } {
  const { manifest, mark, shard } = source.checkpoint;
  const { lastStarted, lastWritten, inProgress } = source.running;
  const rows = source.sink.tally.total;
  // How many records a shard has is known.
  if (shard !== null) return { read: shareOf(rows + inProgress, limit), written: shareOf(rows, limit) };
  const read = shareBefore(manifest, lastStarted ?? mark.position);
  const written = shareBefore(manifest, lastWritten ?? mark.position);
  if (limit === null || source.checkpoint.retry !== null) return { read, written };
  return { read: Math.max(read, Math.min(1, (rows + inProgress) / limit)), written: Math.max(written, Math.min(1, rows / limit)) };
}

function shareOf(records: number, all: number | null): number {
  return all === null || all === 0 ? 1 : Math.min(1, records / all);
}

/** Share of the input's bytes before a position. In archives it goes by frames, and for a single one cannot say. */
export function shareBefore(manifest: InputManifest, position: Position | null): number {
  const all = manifest.files.reduce((sum, file) => sum + file.size, 0);
  return all === 0 ? 1 : Math.min(1, bytesBefore(manifest, position) / all);
}

/** The same in bytes, as the files have them. */
export function bytesBefore(manifest: InputManifest, position: Position | null): number {
  if (position === null) return 0;
  let before = 0;
  for (let i = 0; i < position.file; i++) before += manifest.files[i]?.size ?? 0;
  const file = manifest.files[position.file];
  if (file !== undefined) before += Math.min(file.size, file.compression === 'none' ? position.offset : (position.frame?.at ?? 0));
  return before;
}
