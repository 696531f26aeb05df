/** `millrace serve`: the service in the foreground until it is told to stop. */
import { once } from 'node:events';
import { ConfigError } from '../errors.ts';
import type { MonitorAddress } from '../monitor/address.ts';
import { openJsonLog } from '../monitor/json-log.ts';
import type { Faults } from './faults.ts';
import type { Region } from './keys.ts';
import { askToStop, type OwnerRecord } from './owner/owner-record.ts';
import { StoreOwner } from './owner/store-owner.ts';
import { inherited, NO_INHERITANCE, Succession, type Inheritance } from './owner/successor.ts';
import { claimSampleStore, startService, type MailOptions, type ServiceOptions } from './start-service.ts';
import type { ServiceLog } from './watch/log.ts';
import { openServiceMonitor, type ServiceMonitor } from './watch/service-monitor.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly store: string | null;
  readonly region: Region;
  readonly sample: boolean;
  /** Webhooks may be HTTP and at private addresses. */
  readonly development: boolean;
  /** The process that serves the store is asked to stop, and waited for. */
  readonly takeOver: boolean;
  /** How mail is looked into; the sample has a world of its own. */
  readonly mail: Omit<MailOptions, 'world'>;
  readonly faults: Partial<Faults>;
  /** Where metrics and probes are served apart from the service; null: nowhere. */
  readonly monitor: MonitorAddress | null;
  /** The least severe line to log, as pino names it. */
  readonly logLevel: string;
}

export interface ServeSignals {
  readonly drain: AbortSignal;
  readonly abort?: AbortSignal;
  /** Has the listener called when a successor is wanted, until what it returns is called. */
  readonly onUpgrade?: (listener: () => void) => () => void;
}

/**
 * Serves until `drain` aborts, then answers what is in flight and returns. Prints one line of JSON, `{"url", "pid"}`, on standard output once it is ready, and logs on standard error.
 * @throws MillraceError 75 when another process has the store; ConfigError when it is not said what to serve, or an address cannot be listened on; StorageError when the store cannot be used; the reason of `abort` when that ended it.
 */
export async function serve(options: ServeOptions, signals: ServeSignals): Promise<void> {
  if (options.store === null && !options.sample) {
    throw new ConfigError('no_store', 'nothing to serve: no store was given', {
      hint: 'pass --store FILE (made when missing) for data of your own, or --sample for the sample set',
    });
  }
  const lines = openJsonLog(options.logLevel, true);
  const { logger } = lines;
  const log: ServiceLog = { write: (level, entry) => logger[level](entry), line: (text) => lines.line(text), takes: (level) => logger.isLevelEnabled(level) };
  // To the end: a signal that nobody listens for ends the process.
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
      // This process serves again, where it did.
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

/** Serves until it is told to stop, or has handed over. Not `isOver`: the successor has ended without having served. */
async function serveOnce(options: ServeOptions, { drain, abort, onUpgrade }: ServeSignals, from: Inheritance, log: ServiceLog): Promise<{ readonly url: string; readonly isOver: boolean }> {
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
    // The successor listens there, too.
    if (handsOver) await monitor?.close();
    await (handsOver || from.isKept ? service.handOver(abort) : service.close(abort));
    service.lost.throwIfAborted();
    return { url: service.url, isOver: !handsOver || (await succession.serves()) };
  } finally {
    await monitor?.close();
  }
}

/** Takes the store, and opens the monitor before that, so that a probe is told "not yet" and not nothing; where the process before has its port, after it. */
async function open({ monitor: address, store: path, takeOver }: ServeOptions, drain: AbortSignal, from: Inheritance, log: ServiceLog): Promise<{ readonly store: StoreOwner; readonly monitor: ServiceMonitor | null }> {
  const waits = takeOver || from.hasPredecessor;
  const onHeld = (owner: OwnerRecord): void => {
    log.write('info', { event: 'waiting_for_store', owner: owner.pid, host: owner.host, since: owner.since });
    from.tell('ready');
    if (takeOver && !from.hasPredecessor) askToStop(owner);
  };
  let monitor = address === null ? null : await openServiceMonitor(address).catch((error: unknown) => {
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

function serviceOptions({ host, port, region, sample, development, faults, mail }: ServeOptions, store: StoreOwner, { socket }: Inheritance, log: ServiceLog): ServiceOptions {
  return { store, host, port, ...(socket === null ? {} : { socket }), region, sample, development, faults, log, ...(sample ? {} : { mail }) };
}

/** Those of this process; the store of a sample is one of several, and the successor's the same. */
function successorArguments({ store: given }: ServeOptions, store: StoreOwner): readonly string[] {
  return [...process.argv.slice(2), ...(given === null ? ['--store', store.path] : [])];
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
