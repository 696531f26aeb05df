/** What the live page shows, as JSON. Pure. */
import type { MonitorState } from './open-monitor.ts';
import type { RunView } from './run-view.ts';

/** The job, its state, and once it runs what is known of it. */
export function progressOf(job: string, state: MonitorState, view: RunView | null): Record<string, unknown> {
  if (view === null) return { job, state };
  const { snapshot, pool, ownRpm, quota, lag, checkpointAgeMs, latencyMs, heldUpUntilMs } = view;
  return {
    job,
    state,
    share: snapshot.share,
    records: snapshot.expected,
    etaMs: snapshot.etaMs,
    rows: snapshot.tally.total,
    outcomes: snapshot.tally.outcomes,
    rowsPerSecond: snapshot.rowsPerSecond,
    requestsPerSecond: snapshot.callsPerSecond,
    rpm: ownRpm,
    quota: { ...quota, usedShare: snapshot.quotaShare },
    inFlight: pool.inFlight,
    inFlightLimit: pool.concurrency,
    waiting: pool.waiting,
    lag,
    checkpointAgeMs,
    latencyMs,
    retries: snapshot.retries,
    throttled: snapshot.throttled,
    heldUp: snapshot.heldUp === null ? null : { ...snapshot.heldUp, until: heldUpUntilMs === null ? null : new Date(heldUpUntilMs).toISOString() },
  };
}
