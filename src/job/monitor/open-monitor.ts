/** `--monitor`: shows a run over HTTP, for probes, for Prometheus and for people. */
import type { Reporter } from '../progress/reporter.ts';
import type { RunParts } from '../progress/snapshot.ts';
import type { SilenceWatch } from '../progress/silence.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { MonitorAddress } from '../../telemetry/listen-address.ts';
import { CONTENT_TYPE, exposition } from '../../telemetry/prometheus-text.ts';
import { familiesOf } from './metrics.ts';
import { PAGE, MONITOR_PAGE_POLICY } from './page.ts';
import { startedAtMs } from '../../telemetry/process-metrics.ts';
import { viewsOf, type RunView } from './run-view.ts';
import { plain, servePages, type ServedPages } from '../../telemetry/probe-server.ts';

type MonitorState = 'starting' | 'running' | 'ending';

export interface Monitor extends ServedPages {
  /** A reporter that also tells the monitor of the run. */
  watching(reporter: Reporter): Reporter;
}

/** @param silence the wait before the run begins. @throws ConfigError when the address cannot be listened on */
export async function openMonitor(
  job: CompiledJob,
  address: MonitorAddress,
  silence: Pick<SilenceWatch, 'silence'> | null = null,
): Promise<Monitor> {
  const begunMs = startedAtMs();
  let state: MonitorState = 'starting';
  let look: (() => RunView) | null = null;
  const served = await servePages(
    {
      '/': () => ({ status: 200, type: 'text/html; charset=utf-8', body: PAGE, policy: MONITOR_PAGE_POLICY }),
      '/healthz': () => plain(200, 'ok'),
      '/readyz': () => plain(state === 'running' ? 200 : 503, state),
      '/metrics': () => ({
        status: 200,
        type: CONTENT_TYPE,
        body: exposition(familiesOf(job.name, look?.() ?? null, begunMs, silence?.silence?.wait.reason ?? null)),
      }),
      '/progress.json': () => ({
        status: 200,
        type: 'application/json',
        body: JSON.stringify(progressOf(job.name, state, look?.() ?? null)),
      }),
    },
    address,
  );
  return {
    ...served,
    watching: (reporter) => ({
      ...reporter,
      start: (parts: RunParts) => {
        look = viewsOf(parts, () => performance.now(), Date.now);
        state = 'running';
        reporter.start(parts);
      },
      stop: () => {
        state = 'ending';
        reporter.stop();
      },
    }),
  };
}

/** `/progress.json`, which the live page shows: the job and its state, and its progress once it runs. */
function progressOf(job: string, state: MonitorState, view: RunView | null): Record<string, unknown> {
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
    heldUp:
      snapshot.heldUp === null
        ? null
        : { ...snapshot.heldUp, until: heldUpUntilMs === null ? null : new Date(heldUpUntilMs).toISOString() },
  };
}
