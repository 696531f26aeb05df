/** `--monitor`: shows a run over HTTP, for probes, for Prometheus and for people. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readSlots } from '../../checkpoint/call-slots.ts';
import type { Reporter } from '../progress/reporter.ts';
import type { Report } from '../report/report.ts';
import type { WatchedRun } from '../progress/snapshot.ts';
import type { SilenceWatch } from '../progress/silence.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { MonitorAddress } from '../../telemetry/listen-address.ts';
import { answeredKinds, kindRates, type AnsweredKinds } from '../../writer/rates.ts';
import { CONTENT_TYPE, exposition } from '../../telemetry/prometheus-text.ts';
import { familiesOf } from './metrics.ts';
import { PAGE, MONITOR_PAGE_POLICY } from './page.ts';
import { startedAtMs } from '../../telemetry/process-metrics.ts';
import { viewsOf, type RunView } from './run-view.ts';
import { plain, servePages, type ServedPages } from '../../telemetry/probe-server.ts';

type MonitorState = 'starting' | 'running' | 'ending' | 'finished' | 'stopped';

/** A page that asked this recently is open, and gets the final picture. Milliseconds. */
const OPEN_MS = 3_000;
/** The longest wait for it: after a signal the process has little time. */
const FINAL_MS = { finished: 3_000, other: 1_000 };

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
  /** The last picture of the run, which stays as it is. */
  let last: Record<string, unknown> | null = null;
  let askedMs = -Infinity;
  const taken = Promise.withResolvers<void>();
  const progress = (): Record<string, unknown> => ({ ...(last ?? progressOf(job.name, look?.() ?? null)), state });
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
      '/progress.json': () => {
        askedMs = performance.now();
        if (isFinal(state)) taken.resolve();
        return { status: 200, type: 'application/json', body: JSON.stringify(progress()) };
      },
    },
    address,
  );
  /** The run has ended: what is shown from now on. */
  const end = (how: MonitorState, report: Report): void => {
    const whole = how === 'finished' ? { share: 1, records: { records: report.records.total, isExact: true } } : {};
    last = { ...(last ?? progressOf(job.name, null)), ...finalOf(report), ...whole };
    state = how;
  };
  return {
    ...served,
    watching: (reporter) => ({
      ...reporter,
      start: (parts: WatchedRun) => {
        look = viewsOf(parts, () => performance.now(), Date.now);
        last = null;
        state = 'running';
        reporter.start(parts);
      },
      stop: () => {
        if (look !== null) last = { ...progressOf(job.name, look()), etaMs: null, inFlight: 0, waiting: 0, heldUp: null };
        state = 'ending';
        reporter.stop();
      },
      stopped: (report) => {
        end('stopped', report);
        reporter.stopped(report);
      },
      finished: (report, paths) => {
        end('finished', report);
        reporter.finished(report, paths);
      },
    }),
    close: async () => {
      const isOpen = performance.now() - askedMs < OPEN_MS;
      if (state !== 'finished') state = 'stopped';
      if (isOpen) await Promise.race([taken.promise, sleep(state === 'finished' ? FINAL_MS.finished : FINAL_MS.other)]);
      await served.close();
    },
  };
}

function isFinal(state: MonitorState): boolean {
  return state === 'finished' || state === 'stopped';
}

/** The numbers of a report, in the places where the page looks for them. */
function finalOf(report: Report): Record<string, unknown> {
  const { records, verification, errors, credits, exitCode, activeMs } = report;
  const { total, ...outcomes } = records;
  return { rows: total, outcomes, matchRates: matchRatesOf(report), verification, errors, credits, exitCode, activeMs };
}

/** `/progress.json`, which the live page shows: the job, and its progress once it runs. Counts and times are over all resumes. */
function progressOf(job: string, view: RunView | null): Record<string, unknown> {
  if (view === null) return { job };
  const { snapshot, pool, ownRpm, quota, lag, checkpointAgeMs, latencyMs, heldUpUntilMs } = view;
  return {
    job,
    share: snapshot.share,
    records: snapshot.expected,
    etaMs: snapshot.etaMs,
    activeMs: view.activeMs,
    rows: snapshot.tally.total,
    outcomes: snapshot.outcomes,
    matchRates: matchRatesOf(answeredKinds(snapshot.tally)),
    verification: snapshot.tally.verification,
    errors: snapshot.tally.errors ?? {},
    credits: view.creditsInAll,
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
    series: seriesOf(view),
    heldUp:
      snapshot.heldUp === null
        ? null
        : { ...snapshot.heldUp, until: heldUpUntilMs === null ? null : new Date(heldUpUntilMs).toISOString() },
  };
}

/** `{people, companies}` as shares, 0 to 1; a kind without an answered record is left out. */
function matchRatesOf(kinds: AnsweredKinds): Record<string, number> {
  return Object.fromEntries(kindRates(kinds).map(({ kind, rate }) => [kind, rate]));
}

/** Requests of the whole run, one number a slot of `widthMs`; null where none are counted. */
function seriesOf({ series }: RunView): { readonly widthMs: number; readonly requests: readonly number[] } | null {
  if (series === null) return null;
  const { widthMs, slots } = readSlots(series);
  return { widthMs, requests: slots.map(({ calls }) => calls) };
}
