/** What a monitor shows, taken from the running parts when somebody looks: nothing runs by itself. */
import type { Meter } from '../job/meter.ts';
import type { WaitTotals } from '../job/wait-log.ts';
import { ownRpm } from '../job/shards/shard-job.ts';
import { bytesBefore } from '../job/expected-records.ts';
import { countsOf, snapshots, type HeldUp, type Running, type Snapshot } from '../job/snapshot.ts';

/** Rates are taken over at least so long, however many look. */
const SNAPSHOT_EVERY_MS = 500;

export interface RunView {
  /** Its counts are those of now. */
  readonly snapshot: Snapshot;
  readonly meter: Meter;
  readonly pool: Pick<Running['running']['pool'], 'concurrency' | 'inFlight' | 'waiting' | 'outage'>;
  readonly rpm: number | null;
  /** Of those, what is this run's own: of a shard its share. */
  readonly ownRpm: number | null;
  /** As the newest answer with headers stated it. */
  readonly quota: { readonly limit: number | null; readonly remaining: number | null };
  readonly heldUp: HeldUp | null;
  /** When that ends, Unix time; null: nothing is waited for, or nobody knows. */
  readonly heldUpUntilMs: number | null;
  /** What this execution waited for, milliseconds by reason. */
  readonly waited: WaitTotals['reasons'];
  readonly lag: { readonly records: number; readonly oldestMs: number };
  /** Null: there is no checkpoint. */
  readonly checkpointAgeMs: number | null;
  /** Of this execution, as the next two. */
  readonly throttled: { readonly events: number; readonly waitedMs: number };
  readonly credits: number;
  /** `addresses`: in a full request; null: none was answered. */
  readonly verify: { readonly addresses: number | null; readonly tooLarge: number };
  readonly bytes: { readonly read: number; readonly written: number };
  /** Milliseconds, over all resumes. */
  readonly latencyMs: Readonly<Record<'p50' | 'p95' | 'p99', number | null>>;
}

/** Looks at a run. @param now monotonic milliseconds @param wallNow Unix time, milliseconds */
export function viewsOf(source: Running, now: () => number, wallNow: () => number): () => RunView {
  const { counters, job, running } = source;
  const { manifest, mark } = source.checkpoint;
  const look = snapshots(source, ownRpm(job, source.checkpoint), job.limits.limit, now);
  let snapshot = look();
  let lookedAt = now();
  const begun = { events: counters.throttledEvents, waitedMs: counters.waitedMs, credits: counters.credits, tooLarge: counters.verifyTooLarge };
  const keepsCheckpoint = job.output.uri !== '-';
  return () => {
    const at = now();
    if (at - lookedAt >= SNAPSHOT_EVERY_MS) {
      snapshot = look();
      lookedAt = at;
    }
    const { lastKept } = running;
    const counts = countsOf(source);
    return {
      snapshot: { ...snapshot, ...counts },
      meter: counters.meter,
      pool: running.pool,
      rpm: job.service.rpm,
      ownRpm: ownRpm(job, source.checkpoint),
      quota: running.limiter.stated ?? { limit: null, remaining: null },
      heldUp: counts.heldUp,
      heldUpUntilMs: counts.heldUp === null || counts.heldUp.leftMs === null ? null : wallNow() + counts.heldUp.leftMs,
      waited: counters.waitsNow().reasons,
      lag: { records: running.inProgress, oldestMs: running.oldestMs },
      checkpointAgeMs: keepsCheckpoint && lastKept !== null ? at - lastKept.atMs : null,
      throttled: { events: counters.throttledEvents - begun.events, waitedMs: counters.waitedMs - begun.waitedMs },
      credits: counters.credits - begun.credits,
      verify: { addresses: counters.verifySize?.size ?? null, tooLarge: counters.verifyTooLarge - begun.tooLarge },
      bytes: { read: bytesBefore(manifest, running.lastStarted ?? mark.position) - bytesBefore(manifest, mark.position), written: (lastKept?.mark.bytes ?? mark.bytes) - mark.bytes },
      latencyMs: { p50: counters.latency.percentile(0.5), p95: counters.latency.percentile(0.95), p99: counters.latency.percentile(0.99) },
    };
  };
}
