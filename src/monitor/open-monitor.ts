/** `--monitor`: what runs, over HTTP, for probes, for Prometheus and for people. */
import type { Reporter } from '../job/reporter.ts';
import type { Running } from '../job/snapshot.ts';
import type { SilenceWatch } from '../job/silence.ts';
import type { CompiledJob } from '../job/types.ts';
import type { MonitorAddress } from './address.ts';
import { CONTENT_TYPE, exposition } from './exposition.ts';
import { familiesOf } from './metrics.ts';
import { PAGE, PAGE_POLICY } from './page.ts';
import { startedAtMs } from './process-metrics.ts';
import { progressOf } from './progress.ts';
import { viewsOf, type RunView } from './run-view.ts';
import { plain, servePages, type ServedPages } from './serve-pages.ts';

export type MonitorState = 'starting' | 'running' | 'ending';

export interface Monitor extends ServedPages {
  /** A reporter that also tells the monitor of the run. */
  watching(reporter: Reporter): Reporter;
}

/** @param silence what is waited for before the run begins. @throws ConfigError when the address cannot be listened on */
export async function openMonitor(job: CompiledJob, address: MonitorAddress, silence: Pick<SilenceWatch, 'silence'> | null = null): Promise<Monitor> {
  const begunMs = startedAtMs();
  let state: MonitorState = 'starting';
  let look: (() => RunView) | null = null;
  const served = await servePages({
    '/': () => ({ status: 200, type: 'text/html; charset=utf-8', body: PAGE, policy: PAGE_POLICY }),
    '/healthz': () => plain(200, 'ok'),
    '/readyz': () => plain(state === 'running' ? 200 : 503, state),
    '/metrics': () => ({ status: 200, type: CONTENT_TYPE, body: exposition(familiesOf(job.name, look?.() ?? null, begunMs, silence?.silence?.wait.reason ?? null)) }),
    '/progress.json': () => ({ status: 200, type: 'application/json', body: JSON.stringify(progressOf(job.name, state, look?.() ?? null)) }),
  }, address);
  return {
    ...served,
    watching: (reporter) => ({
      ...reporter,
      start: (running: Running) => {
        look = viewsOf(running, () => performance.now(), Date.now);
        state = 'running';
        reporter.start(running);
      },
      stop: () => {
        state = 'ending';
        reporter.stop();
      },
    }),
  };
}
