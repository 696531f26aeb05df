/** `millrace serve`: the service in the foreground until it is told to stop. */
import { once } from 'node:events';
import { ConfigError } from '../errors.ts';
import type { MonitorAddress } from '../monitor/address.ts';
import { openJsonLog } from '../monitor/json-log.ts';
import type { Faults } from './faults.ts';
import type { Region } from './keys.ts';
import { sampleStorePath, startService, type MailOptions } from './start-service.ts';
import type { ServiceLog } from './watch/log.ts';
import { openServiceMonitor } from './watch/service-monitor.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly store: string | null;
  readonly region: Region;
  readonly sample: boolean;
  /** Webhooks may be HTTP and at private addresses. */
  readonly development: boolean;
  /** How mail is looked into; the sample has a world of its own. */
  readonly mail: Omit<MailOptions, 'world'>;
  readonly faults: Partial<Faults>;
  /** Where metrics and probes are served apart from the service; null: nowhere. */
  readonly monitor: MonitorAddress | null;
  /** The least severe line to log, as pino names it. */
  readonly logLevel: string;
}

/**
 * Serves until `drain` aborts, then answers what is in flight and returns. Prints one line of JSON, `{"url", "pid"}`, on standard output once it is ready, and logs on standard error.
 * @throws ConfigError when it is not said what to serve, or an address cannot be listened on; StorageError when the store cannot be used; the reason of `abort` when that ended it.
 */
export async function serve(options: ServeOptions, { drain, abort }: { readonly drain: AbortSignal; readonly abort?: AbortSignal }): Promise<void> {
  const { host, port, region, sample, development, faults, mail } = options;
  if (options.store === null && !sample) {
    throw new ConfigError('no_store', 'nothing to serve: no store was given', {
      hint: 'pass --store FILE (made when missing) for data of your own, or --sample for the sample set',
    });
  }
  const lines = openJsonLog(options.logLevel, true);
  const { logger } = lines;
  const log: ServiceLog = { write: (level, entry) => logger[level](entry), line: (text) => lines.line(text), takes: (level) => logger.isLevelEnabled(level) };
  const monitor = options.monitor === null ? null : await openServiceMonitor(options.monitor);
  try {
    const service = await startService({ store: options.store ?? (await sampleStorePath()), host, port, region, sample, development, faults, log, ...(sample ? {} : { mail }) });
    try {
      monitor?.watch(service);
      log.write('info', { event: 'serving', url: service.url, monitor: monitor?.url ?? null, region, pid: process.pid });
      process.stdout.write(`${JSON.stringify({ url: service.url, pid: process.pid })}\n`);
      if (!drain.aborted) await once(drain, 'abort');
      log.write('info', { event: 'stopping', in_flight: service.look().inFlight });
    } finally {
      await service.close(abort);
    }
    abort?.throwIfAborted();
    log.write('info', { event: 'stopped' });
  } finally {
    await monitor?.close();
    lines.close();
  }
}
