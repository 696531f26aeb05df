/** Starts the data service on a store and stops it again. */
import { randomBytes } from 'node:crypto';
import { buildApp } from './app.ts';
import { Batches } from '../batches/batches.ts';
import { withLearntPatterns } from '../verify/store-evidence.ts';
import { faultSequence, type Faults } from '../calls/fault-injection.ts';
import { LIMITS, type Limits } from '../guards/limits.ts';
import { closeSilent, lastAnswers } from '../guards/last-answers.ts';
import { LoadGate } from '../guards/load-gate.ts';
import { Turns } from '../guards/turns.ts';
import { VerifyGate } from '../guards/verify-gate.ts';
import { Idempotency } from '../calls/idempotency.ts';
import { KeyRing } from '../accounts/key-ring.ts';
import { KeyWrites } from '../accounts/key-writes.ts';
import type { Region } from '../accounts/keys.ts';
import { DurableQuota } from '../accounts/durable-quota.ts';
import { addressOf, descriptorOf, listen } from './listen.ts';
import { openMail, type MailOptions, type OpenMail } from './mail.ts';
import { loadSample, readSampleWorld, SAMPLE_KEY } from '../sample/sample-store.ts';
import { catchUp } from '../erasure/catch-up.ts';
import { QueryEngine } from '../search/query-engine.ts';
import { EventStreams } from '../signals/signal-events.ts';
import { StoreOwner } from '../store/owner/store-owner.ts';
import { openDirectory } from '../store/directory.ts';
import { Journal } from '../store/journal.ts';
import { openStore } from '../store/open-store.ts';
import type { WriteFailure } from '../store/store-disk.ts';
import { ReadTransaction } from '../store/read-transaction.ts';
import { SignalFeed } from '../store/rows/signal-feed.ts';
import { VerificationRows } from '../verify/verification-rows.ts';
import type { ServiceLog } from '../monitoring/log.ts';
import { LoopLag } from '../monitoring/loop-lag.ts';
import { ServiceMeter } from '../monitoring/meter.ts';
import type { ServiceView } from './metrics.ts';
import { StoreHealth } from '../monitoring/store-health.ts';
import { Webhooks } from '../webhooks/webhooks.ts';

export type { Faults } from '../calls/fault-injection.ts';
export type { MailOptions } from './mail.ts';
export { claimSampleStore } from '../sample/sample-store.ts';

/** How long `close` waits for what is in flight, milliseconds. */
const CLOSE_WITHIN_MS = 10_000;

/** While serving, a write that has to wait for another process is put off instead: the whole service would wait with it. */
const BUSY_TIMEOUT_MS = 0;
/**
 * The upper pages of all indexes fit. More of it makes nothing quicker: what is looked up is on a page of its own, and search keeps what it
 * reads often itself.
 */
const CACHE_KIB = 16_384;

export interface ServiceOptions {
  /** SQLite file, made when missing; or one that this process owns already, which `close` lets go of. */
  readonly store: string | StoreOwner;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /**
   * Descriptor of a socket that listens already, in place of `host` and `port`. Other processes with it go on when this service ends.
   */
  readonly socket?: number;
  /** Default us. */
  readonly region?: Region;
  /** Load the sample set into an empty store, and accept the key `sample-key` on the enterprise plan. */
  readonly sample?: boolean;
  /** An extra key accepted for this process only, with this quota (null: unlimited). */
  readonly embeddedKey?: { readonly key: string; readonly rpm: number | null };
  readonly faults?: Partial<Faults>;
  /** Webhooks may be HTTP and at private addresses. Default false. */
  readonly development?: boolean;
  /** Where mail is looked into. Default: with `sample` its own world of mail; else this machine's DNS, and no mail servers. */
  readonly mail?: MailOptions;
  /** Where it logs to, without personal data; default nowhere. */
  readonly log?: ServiceLog;
  /** Default: `LIMITS`. */
  readonly limits?: Partial<Limits>;
}

export interface RunningService {
  /** Origin without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** The descriptor of the socket that it listens on; null: the system has none. */
  readonly socket: number | null;
  /** Aborts when the store is this process's no more, with the error to end with. */
  readonly lost: AbortSignal;
  /** Its state now, for metrics and probes. */
  look(): ServiceView;
  /** Answers what is in flight (10 s at most, or until `abort`), writes what is pending, and lets go of the store. Safe to call twice. */
  close(abort?: AbortSignal): Promise<void>;
  /**
   * The same where another process has the socket, too, and goes on with it: before it stops listening, each answer becomes the last of its
   * connection.
   */
  handOver(abort?: AbortSignal): Promise<void>;
}

/**
 * Opens the store and listens.
 * @throws MillraceError 75 when another process has the store; StorageError when the store cannot be used; ConfigError when the address
 * cannot be listened on.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const owner = typeof options.store === 'string' ? await StoreOwner.claim(options.store) : options.store;
  try {
    return await startOn(owner, options);
  } catch (error) {
    await owner.release();
    throw error;
  }
}

async function startOn(owner: StoreOwner, options: ServiceOptions): Promise<RunningService> {
  const region = options.region ?? 'us';
  const log = options.log ?? null;
  const clock = (): number => performance.now();
  const now = (): number => Date.now();

  const store = openStore(owner.path, undefined, true);
  let mail: OpenMail | null = null;
  let search: QueryEngine | null = null;
  const health = new StoreHealth(owner.path, log);
  const tellOfFailure = (error: unknown, failure: WriteFailure): void =>
    log?.write('warn', { event: 'store_write_failed', reason: failure, error: error instanceof Error ? error.message : String(error) });
  const journal = new Journal(store, tellOfFailure, clock, {
    onDamage: (where, error) => health.damaged(where, error),
    onRecovered: () => log?.write('info', { event: 'store_written_again' }),
  });
  const lag = new LoopLag(clock);
  try {
    await owner.watchFiles();
    catchUp(store, owner.path);
    if (options.sample === true) await loadSample(store);
    for (const file of [store, store.books]) file.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA cache_size = -${CACHE_KIB}`);
    const keyWrites = new KeyWrites(store, journal);
    const keys = new KeyRing(store, keyWrites, clock, now);
    if (options.sample === true) keys.accept(SAMPLE_KEY, { id: 'key_sample', policy: 'enterprise', rpm: null, region });
    if (options.embeddedKey !== undefined) {
      const { key, rpm } = options.embeddedKey;
      keys.accept(key, {
        id: `key_embedded_${randomBytes(8).toString('hex')}`,
        policy: rpm === null ? 'enterprise' : 'embedded',
        rpm,
        region,
      });
    }
    const opened = await openMail(
      options.mail ?? (options.sample === true ? { world: await readSampleWorld(), isSample: true } : {}),
      clock,
      now,
    );
    mail = opened;
    const turn = new ReadTransaction(store);
    const directory = openDirectory(store, turn);
    const quota = new DurableQuota(store, keyWrites, clock, now);
    const verifier = new VerifyGate(opened.verifier);
    const streams = new EventStreams();
    const limits = { ...LIMITS, ...options.limits };
    const gate = new LoadGate(limits, clock, () => journal.writeAwaited());
    const meter = new ServiceMeter();
    const evidence = withLearntPatterns(directory, store, clock);
    const engine = new QueryEngine(store, now);
    search = engine;
    const signals = new SignalFeed(store);
    const webhooks = new Webhooks({
      store,
      journal,
      keys,
      signals,
      directory,
      isDevelopment: options.development === true,
      resolver: opened.resolver,
      now,
      random: () => Math.random(),
      log,
      health,
    });
    const batches = new Batches({
      store,
      writes: webhooks.writes,
      path: owner.path,
      keys,
      executeContext: { directory, verifier, evidence, now, webhooks },
      meter,
      log,
      journal,
      health,
      arrived: () => gate.arrived,
      clock,
      now,
      announce: webhooks.announce,
    });
    const app = buildApp({
      directory,
      search: engine,
      turns: new Turns(clock),
      signals,
      streams,
      verifier,
      evidence,
      keys,
      quota,
      verifications: new VerificationRows(store, journal),
      batches,
      idempotency: new Idempotency(store, journal, now),
      journal,
      health,
      webhooks,
      region,
      isSample: options.sample === true,
      nextFault: faultSequence(options.faults ?? {}),
      clock,
      now,
      limits,
      gate,
      meter,
      log,
    });
    await listen(app.fastify, options.socket ?? { host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
    batches.start();
    webhooks.start();
    const { server } = app.fastify;
    const { port, url } = addressOf(server);
    await owner.publishUrl(url);

    const stop = async (abort: AbortSignal, isHandedOver: boolean): Promise<void> => {
      // The next start repeats chunks in progress: a chunk that is cut short gives no result.
      batches.stop();
      if (isHandedOver) {
        app.endConnections();
        await Promise.all([lastAnswers(app.connections.sockets, abort), webhooks.close()]);
      }
      const force = (): void => server.closeAllConnections();
      const timer = setTimeout(force, CLOSE_WITHIN_MS);
      abort.addEventListener('abort', force, { once: true });
      // Requests that wait for a mail server are answered as pending.
      opened.verifier.close();
      try {
        const closed = Promise.all([app.close(), webhooks.close()]);
        if (isHandedOver) void closeSilent(app.connections.sockets, abort);
        if (abort.aborted) force();
        await closed;
      } finally {
        clearTimeout(timer);
        lag.close();
        await opened.close();
        await batches.ended();
        // Another process's levels hold by now.
        if (!owner.lost.aborted) quota.releaseReserves();
        journal.close();
        turn.end();
        engine.close();
        store.close();
        await owner.release();
      }
    };
    const look = (): ServiceView => ({
      meter,
      readiness: app.readiness(),
      inFlight: gate.inFlight,
      connections: app.connections,
      streams: streams.size,
      lagMs: lag.worstMs,
      turnMs: gate.lastTurnMs,
      verifying: { addresses: verifier.addresses, jobs: app.openVerifications() },
      batches: health.reading('batches', () => batches.byState(), new Map()),
      webhooks: { counts: webhooks.dispatcher.counts, pending: health.reading('webhooks', () => webhooks.pending, Number.NaN) },
      stuckMs: journal.stuckMs,
      failure: journal.failure,
      damage: health.damage,
      store: owner.path,
    });
    let stopping: Promise<void> | null = null;
    const never = new AbortController().signal;
    return {
      url,
      port,
      socket: descriptorOf(server),
      lost: owner.lost,
      look,
      close: (abort = never) => (stopping ??= stop(abort, false)),
      handOver: (abort = never) => (stopping ??= stop(abort, true)),
    };
  } catch (error) {
    lag.close();
    await mail?.close();
    journal.close();
    search?.close();
    store.close();
    throw error;
  }
}
