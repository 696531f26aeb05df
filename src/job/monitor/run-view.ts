/** The view of a run that a monitor shows. It is taken when a request comes, and nothing runs by itself. */
import { servicePace } from '../../definition/job-provider.ts';
import type { Meter } from '../run/meter.ts';
import type { ProviderView } from '../run/channel-views.ts';
import type { StoredSlots } from '../../checkpoint/call-slots.ts';
import type { WaitTotals } from '../../checkpoint/wait-log.ts';
import { ownRpm } from '../shards/shard-job.ts';
import { bytesBefore } from '../../checkpoint/expected-records.ts';
import { countsOf, snapshots, type HeldUp, type WatchedRun, type Snapshot } from '../progress/snapshot.ts';

/** Rates are taken over at least this long, however many requests come. */
const SNAPSHOT_EVERY_MS = 500;

/** A provider now. Its counts are of this execution only. */
interface SeenProvider extends Pick<ProviderView, 'name' | 'skipped' | 'outageMs'> {
  readonly meter: Meter;
  readonly credits: number;
}

export interface RunView {
  /** Its counts are from the moment of the request. */
  readonly snapshot: Snapshot;
  readonly meter: Meter;
  readonly pool: Pick<WatchedRun['pool'], 'concurrency' | 'inFlight' | 'waiting' | 'outage'>;
  readonly rpm: number | null;
  /** The requests a minute that are this run's own: a shard has a share. */
  readonly ownRpm: number | null;
  /** As the newest answer with headers stated it. */
  readonly quota: { readonly limit: number | null; readonly remaining: number | null };
  readonly heldUp: HeldUp | null;
  /** When the wait ends, Unix time; null when nothing waits, or the end is unknown. */
  readonly heldUpUntilMs: number | null;
  /** The waits of this execution, milliseconds by reason. */
  readonly waited: WaitTotals['reasons'];
  readonly lag: { readonly records: number; readonly oldestMs: number };
  /** Null for a run without checkpoints. */
  readonly checkpointAgeMs: number | null;
  /** This and the next two count this execution only. */
  readonly throttled: { readonly events: number; readonly waitedMs: number };
  readonly credits: number;
  /** The next three are over all resumes. Milliseconds. */
  readonly activeMs: number;
  readonly creditsInAll: number;
  readonly series: StoredSlots | null;
  /** `addresses`: in a full request; null before the first answer. */
  readonly verify: { readonly addresses: number | null; readonly tooLarge: number };
  readonly bytes: { readonly read: number; readonly written: number };
  /** Milliseconds, over all resumes. */
  readonly latencyMs: Readonly<Record<'p50' | 'p95' | 'p99', number | null>>;
  /** Providers that the job names; empty for a job with one service. */
  readonly providers: readonly SeenProvider[];
}

/** Makes views of a run. @param now monotonic milliseconds. @param wallNow Unix time, milliseconds */
export function viewsOf(source: WatchedRun, now: () => number, wallNow: () => number): () => RunView {
  const { counters, job, limiter, loop, pool, providers = [] } = source;
  const creditsBefore = new Map(providers.map((provider) => [provider.name, provider.counters.credits]));
  const { manifest, mark } = source.checkpoint;
  const look = snapshots(source, ownRpm(servicePace(job), source.checkpoint), job.limits.limit, now);
  let snapshot = look();
  let lookedAt = now();
  const begun = {
    events: counters.throttledEvents,
    waitedMs: counters.waitedMs,
    credits: counters.credits,
    tooLarge: counters.requestSize('verify').tooLarge,
  };
  const keepsCheckpoint = job.output.uri !== '-';
  return () => {
    const at = now();
    if (at - lookedAt >= SNAPSHOT_EVERY_MS) {
      snapshot = look();
      lookedAt = at;
    }
    const { lastSaved } = source.checkpoints;
    const counts = countsOf(source);
    const verify = counters.requestSize('verify');
    return {
      snapshot: { ...snapshot, ...counts },
      meter: counters.meter,
      pool,
      rpm: servicePace(job).rpm,
      ownRpm: ownRpm(servicePace(job), source.checkpoint),
      quota: limiter.stated ?? { limit: null, remaining: null },
      heldUp: counts.heldUp,
      heldUpUntilMs: counts.heldUp === null || counts.heldUp.leftMs === null ? null : wallNow() + counts.heldUp.leftMs,
      waited: counters.waitsNow().reasons,
      lag: { records: loop.inProgress, oldestMs: loop.oldestMs },
      checkpointAgeMs: keepsCheckpoint && lastSaved !== null ? at - lastSaved.atMs : null,
      throttled: { events: counters.throttledEvents - begun.events, waitedMs: counters.waitedMs - begun.waitedMs },
      credits: counters.credits - begun.credits,
      activeMs: counters.activeMs,
      creditsInAll: counters.credits,
      series: counters.series,
      verify: { addresses: verify.kept?.size ?? null, tooLarge: verify.tooLarge - begun.tooLarge },
      bytes: {
        read: bytesBefore(manifest, loop.lastStarted ?? mark.position) - bytesBefore(manifest, mark.position),
        written: (lastSaved?.mark.bytes ?? mark.bytes) - mark.bytes,
      },
      providers: providers.map(({ name, skipped, outageMs, counters: own }) => ({
        name,
        skipped,
        outageMs,
        meter: own.meter,
        credits: own.credits - (creditsBefore.get(name) ?? 0),
      })),
      latencyMs: { p50: counters.latency.percentile(0.5), p95: counters.latency.percentile(0.95), p99: counters.latency.percentile(0.99) },
    };
  };
}
