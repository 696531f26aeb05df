/** Starts the data service on a store and stops it again. */
import { randomBytes } from 'node:crypto';
import { ConfigError } from '../errors.ts';
import { buildApp } from './app.ts';
import { Batches } from './batches/batches.ts';
import { withLearntPatterns } from './evidence.ts';
import { fates, type Faults } from './faults.ts';
import { LIMITS, type Limits } from './guard/limits.ts';
import { LoadGate } from './guard/load-gate.ts';
import { VerifyGate } from './guard/verify-gate.ts';
import { Idempotency } from './idempotency.ts';
import { KeyRing } from './key-ring.ts';
import type { Region } from './keys.ts';
import { KeptQuota } from './kept-quota.ts';
import { openMail, type MailOptions, type OpenMail } from './mail.ts';
import { loadSample, readSampleWorld, SAMPLE_KEY } from './sample-store.ts';
import { SearchIndex } from './search/search-index.ts';
import { EventStreams } from './signal-events.ts';
import { openDirectory } from './store/directory.ts';
import { Journal } from './store/journal.ts';
import { openStore } from './store/open-store.ts';
import { TurnReader } from './store/turn.ts';
import { SignalFeed } from './store/signal-feed.ts';
import { VerificationRows } from './store/verification-rows.ts';
import type { ServiceLog } from './watch/log.ts';
import { LoopLag } from './watch/loop-lag.ts';
import { ServiceMeter } from './watch/meter.ts';
import type { ServiceView } from './watch/metrics.ts';
import { Webhooks } from './webhooks/webhooks.ts';

export type { Faults } from './faults.ts';
export type { MailOptions } from './mail.ts';
export { sampleStorePath } from './sample-store.ts';

/** How long `close` waits for what is in flight, milliseconds. */
const CLOSE_WITHIN_MS = 10_000;

/** While serving, a write that has to wait for an import is put off instead: the whole service would wait with it. */
const BUSY_TIMEOUT_MS = 0;
/** The upper pages of all indexes fit. More of it makes nothing quicker: what is looked up is on a page of its own, and search keeps what it reads often itself. */
const CACHE_KIB = 16_384;

export interface ServiceOptions {
  /** SQLite file; made when missing. */
  readonly store: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
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
  /** What it looks like now, for metrics and probes. */
  look(): ServiceView;
  /** Answers what is in flight (10 s at most, or until `abort`), writes what is pending, and lets go of the store. Safe to call twice. */
  close(abort?: AbortSignal): Promise<void>;
}

/**
 * Opens the store and listens.
 * @throws StorageError when the store cannot be used; ConfigError when the address cannot be listened on.
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const region = options.region ?? 'us';
  const host = options.host ?? '127.0.0.1';
  const log = options.log ?? null;
  const clock = (): number => performance.now();
  const now = (): number => Date.now();

  const store = openStore(options.store);
  let mail: OpenMail | null = null;
  const journal = new Journal(store, (error) => log?.write('warn', { event: 'store_write_failed', error: error instanceof Error ? error.message : String(error) }), clock);
  const lag = new LoopLag(clock);
  try {
    if (options.sample === true) await loadSample(store);
    store.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA cache_size = -${CACHE_KIB}`);
    const keys = new KeyRing(store, journal, clock);
    if (options.sample === true) keys.accept(SAMPLE_KEY, { id: 'key_sample', policy: 'enterprise', rpm: null, region });
    if (options.embeddedKey !== undefined) {
      const { key, rpm } = options.embeddedKey;
      keys.accept(key, { id: `key_embedded_${randomBytes(8).toString('hex')}`, policy: rpm === null ? 'enterprise' : 'embedded', rpm, region });
    }
    const opened = await openMail(options.mail ?? (options.sample === true ? { world: await readSampleWorld() } : {}), clock, now);
    mail = opened;
    const turn = new TurnReader(store);
    const directory = openDirectory(store, turn);
    const quota = new KeptQuota(store, journal, clock, now);
    const verifier = new VerifyGate(opened.verifier);
    const streams = new EventStreams();
    const limits = { ...LIMITS, ...options.limits };
    const gate = new LoadGate(limits, clock, () => journal.writeAwaited());
    const meter = new ServiceMeter();
    const evidence = withLearntPatterns(directory, store, clock);
    const signals = new SignalFeed(store);
    const webhooks = new Webhooks({ store, journal, keys, signals, directory, isDevelopment: options.development === true, resolver: opened.resolver, now, random: () => Math.random(), log });
    const batches = new Batches({ store, writes: webhooks.writes, path: options.store, keys, performing: { directory, verifier, evidence, now, webhooks }, meter, log, arrived: () => gate.arrived, clock, now, announce: webhooks.announce });
    const app = buildApp({
      directory,
      search: new SearchIndex(store, now),
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
      webhooks,
      announce: webhooks.announce,
      region,
      nextFate: fates(options.faults ?? {}),
      clock,
      now,
      limits,
      gate,
      meter,
      log,
    });
    await listen(app.fastify, host, options.port ?? 0);
    batches.start();
    webhooks.start();
    const address = app.fastify.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;

    const stop = async (abort?: AbortSignal): Promise<void> => {
      const force = (): void => app.fastify.server.closeAllConnections();
      const timer = setTimeout(force, CLOSE_WITHIN_MS);
      abort?.addEventListener('abort', force, { once: true });
      // What is under way is done again after the next start: what is cut short now is no result.
      batches.stop();
      // What waits for a mail server is answered as pending.
      opened.verifier.close();
      try {
        const closed = Promise.all([app.close(), webhooks.close()]);
        if (abort?.aborted === true) force();
        await closed;
      } finally {
        clearTimeout(timer);
        lag.close();
        await opened.close();
        await batches.ended();
        quota.settle();
        journal.close();
        turn.end();
        store.close();
      }
    };
    const look = (): ServiceView => ({
      meter, ready: app.ready(), inFlight: gate.inFlight, connections: app.connections, streams: streams.size, lagMs: lag.worstMs, turnMs: gate.lastTurnMs,
      verifying: { addresses: verifier.addresses, jobs: app.openVerifications() }, batches: batches.byState(), webhooks: { counts: webhooks.courier.counts, pending: webhooks.pending }, stuckMs: journal.stuckMs, store: options.store,
    });
    let stopping: Promise<void> | null = null;
    return { url: `http://${reachable(host)}:${port}`, port, look, close: (abort) => (stopping ??= stop(abort)) };
  } catch (error) {
    lag.close();
    await mail?.close();
    journal.close();
    store.close();
    throw error;
  }
}

async function listen(app: ReturnType<typeof buildApp>['fastify'], host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EADDRINUSE' ? 'the port is taken' : code === 'EACCES' ? 'not permitted' : (error as Error).message;
    throw new ConfigError('cannot_listen', `cannot listen on ${host}:${port}: ${why}`, {
      hint: 'pass another --port (0: any free one) or --host',
      cause: error,
    });
  }
}

/** The address a client on this machine reaches `host` by. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
