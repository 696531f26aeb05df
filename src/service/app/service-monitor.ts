/** `serve --monitor`: the service's metrics and probes at an address of their own, which clients need not reach. */
import type { MonitorAddress } from '../../telemetry/listen-address.ts';
import { CONTENT_TYPE, exposition } from '../../telemetry/prometheus-text.ts';
import { startedAtMs } from '../../telemetry/process-metrics.ts';
import { plain, servePages, type ServedPages } from '../../telemetry/probe-server.ts';
import type { RunningService } from './start-service.ts';
import { serviceFamilies } from './metrics.ts';

export interface ServiceMonitor extends ServedPages {
  /** Shows a service that has been started, until the monitor is closed. */
  watch(service: Pick<RunningService, 'look'>): void;
}

/**
 * It is there before the service, so that a probe is told "not yet" and not nothing.
 * @throws ConfigError when the address cannot be listened on
 */
export async function openServiceMonitor(address: MonitorAddress): Promise<ServiceMonitor> {
  const begunMs = startedAtMs();
  let service: Pick<RunningService, 'look'> | null = null;
  const served = await servePages(
    {
      '/healthz': () => plain(200, 'ok'),
      '/readyz': () => {
        if (service === null) return plain(503, 'starting');
        const { ready, status, reason, detail } = service.look().readiness;
        return plain(ready ? 200 : 503, reason === null ? status : `${status}: ${reason}: ${detail}`);
      },
      '/metrics': () => ({
        status: 200,
        type: CONTENT_TYPE,
        body: service === null ? '' : exposition(serviceFamilies(service.look(), begunMs)),
      }),
    },
    address,
  );
  return {
    ...served,
    watch(started) {
      service = started;
    },
  };
}
