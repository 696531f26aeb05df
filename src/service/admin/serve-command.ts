/** `millrace serve`: runs the service in the foreground until a signal ends it. */
import { once } from 'node:events';
import { ConfigError } from '../../util/errors.ts';
import type { MonitorAddress } from '../../telemetry/listen-address.ts';
import { openJsonLog } from '../../telemetry/json-log.ts';
import type { Faults } from '../calls/fault-injection.ts';
import type { Region } from '../accounts/keys.ts';
import { askToStop, type OwnerRecord } from '../store/owner/owner-record.ts';
import { StoreOwner } from '../store/owner/store-owner.ts';
import { inherited, NO_INHERITANCE, Succession, type Inheritance } from '../app/successor.ts';
import { claimSampleStore, startService, type MailOptions, type ServiceOptions } from '../app/start-service.ts';
import type { ServiceLog } from '../monitoring/log.ts';
import { openServiceMonitor, type ServiceMonitor } from '../app/service-monitor.ts';

interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly store: string | null;
  readonly region: Region;
  readonly sample: boolean;
  /** Allows webhooks over HTTP and to private addresses. */
  readonly development: boolean;
  /** Take over: asks the process that serves the store to stop, and waits for it. */
  readonly takeOver: boolean;
  /** How mailboxes are verified. The sample has a mail world of its own. */
  readonly mail: Omit<MailOptions, 'world'>;
  readonly faults: Partial<Faults>;
  /** The address for metrics and probes apart from the service; null when they have none. */
  readonly monitor: MonitorAddress | null;
  /** The least severe level to log, by pino's names. */
  readonly logLevel: string;
}

interface ServeSignals {
  readonly drain: AbortSignal;
  readonly abort?: AbortSignal;
  /** Registers a listener that is called when a successor is wanted; returns the function that removes it. */
  readonly onUpgrade?: (listener: () => void) => () => void;
}

/**
 * Serves until `drain` aborts, then completes the requests in flight and returns. When it is ready, it prints one line of JSON on standard
 * output: `{"url", "pid"}`. Logs go to standard error.
 * @throws MillraceError 75 when another process has the store; ConfigError when nothing to serve is named, or an address cannot be listened
 * on; StorageError when the store cannot be used; the reason of `abort` after an abort
 */
export async function serve(options: ServeOptions, signals: ServeSignals): Promise<void> {
  if (options.store === null && !options.sample) {
    throw new ConfigError('no_store', 'nothing to serve: no store was given', {
      hint: 'pass --store FILE (made when missing) for data of your own, or --sample for the sample set',
    });
  }
  const lines = openJsonLog(options.logLevel, true);
  const { logger } = lines;
  const log: ServiceLog = {
    write: (level, entry) => logger[level](entry),
    line: (text) => lines.line(text),
    takes: (level) => logger.isLevelEnabled(level),
  };
  // Registered until the end: a signal without a listener would end the process.
  let upgrade: () => void = nothing;
  const ignore = signals.onUpgrade?.(() => upgrade());
  const onUpgrade = (listener: () => void): (() => void) => {
    upgrade = listener;
    return () => (upgrade = nothing);
  };
  try {
    let [given, from] = [options, inherited(process.env)];
    for (;;) {
      const { url, isOver } = await serveOnce(given, { ...signals, onUpgrade }, from, log);
      if (isOver) break;
      // This process serves again at the same address.
      from = NO_INHERITANCE;
      given = { ...given, port: Number(new URL(url).port) };
    }
    signals.abort?.throwIfAborted();
    log.write('info', { event: 'stopped' });
  } finally {
    ignore?.();
    lines.close();
  }
}

function nothing(): void {}

/** Serves until a signal stops it, or the successor has taken over. `isOver` is false when the successor ended without serving. */
async function serveOnce(
  options: ServeOptions,
  { drain, abort, onUpgrade }: ServeSignals,
  from: Inheritance,
  log: ServiceLog,
): Promise<{ readonly url: string; readonly isOver: boolean }> {
  const { store, monitor } = await open(options, drain, from, log);
  try {
    const service = await startService(serviceOptions(options, store, from, log));
    monitor?.watch(service);
    log.write('info', { event: 'serving', url: service.url, monitor: monitor?.url ?? null, region: options.region, pid: process.pid });
    process.stdout.write(`${JSON.stringify({ url: service.url, pid: process.pid })}\n`);
    from.tell('serving');
    const succession = new Succession({ socket: service.socket, args: successorArguments(options, store), log });
    const ignore = onUpgrade?.(() => succession.begin());
    await Promise.race([aborted(drain), aborted(service.lost), succession.ready]);
    ignore?.();
    log.write('info', { event: 'stopping', in_flight: service.look().inFlight });
    const handsOver = succession.isReady && !drain.aborted && !service.lost.aborted;
    if (!handsOver) succession.stop();
    // The successor listens at the same address.
    if (handsOver) await monitor?.close();
    await (handsOver || from.isKept ? service.handOver(abort) : service.close(abort));
    service.lost.throwIfAborted();
    return { url: service.url, isOver: !handsOver || (await succession.serves()) };
  } finally {
    await monitor?.close();
  }
}

/**
 * Opens the monitor before it takes the store, so that a probe gets "not ready" and not a refused connection. When the former process has
 * the monitor's port, the monitor opens after the store.
 */
async function open(
  { monitor: address, store: path, takeOver }: ServeOptions,
  drain: AbortSignal,
  from: Inheritance,
  log: ServiceLog,
): Promise<{ readonly store: StoreOwner; readonly monitor: ServiceMonitor | null }> {
  const waits = takeOver || from.hasPredecessor;
  const onHeld = (owner: OwnerRecord): void => {
    log.write('info', { event: 'waiting_for_store', owner: owner.pid, host: owner.host, since: owner.since });
    from.tell('ready');
    if (takeOver && !from.hasPredecessor) askToStop(owner);
  };
  let monitor =
    address === null
      ? null
      : await openServiceMonitor(address).catch((error: unknown) => {
          if (!waits) throw error;
          return null;
        });
  let store: StoreOwner | null = null;
  try {
    store = path === null ? await claimSampleStore() : await StoreOwner.claim(path, waits ? { waits, signal: drain, onHeld } : {});
    if (address !== null) monitor ??= await openServiceMonitor(address);
    return { store, monitor };
  } catch (error) {
    await store?.release();
    await monitor?.close();
    throw error;
  }
}

function serviceOptions(
  { host, port, region, sample, development, faults, mail }: ServeOptions,
  store: StoreOwner,
  { socket }: Inheritance,
  log: ServiceLog,
): ServiceOptions {
  return {
    store,
    host,
    port,
    ...(socket === null ? {} : { socket }),
    region,
    sample,
    development,
    faults,
    log,
    ...(sample ? {} : { mail }),
  };
}

function successorArguments({ store: given }: ServeOptions, store: StoreOwner): readonly string[] {
  return [...process.argv.slice(2), ...(given === null ? ['--store', store.path] : [])];
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
