/** Starts the data service on a store and stops it again. */
import { randomBytes } from 'node:crypto';
import { ConfigError } from '../errors.ts';
import { buildApp } from './app.ts';
import { withLearntPatterns } from './evidence.ts';
import { fates, type Faults } from './faults.ts';
import { Idempotency } from './idempotency.ts';
import { KeyRing } from './key-ring.ts';
import type { Region } from './keys.ts';
import { KeptQuota } from './kept-quota.ts';
import { openMail, type MailOptions, type OpenMail } from './mail.ts';
import { loadSample, readSampleWorld, SAMPLE_KEY } from './sample-store.ts';
import { SearchIndex } from './search/search-index.ts';
import { openDirectory } from './store/directory.ts';
import { Journal } from './store/journal.ts';
import { openStore } from './store/open-store.ts';
import { SignalFeed } from './store/signal-feed.ts';

export type { Faults } from './faults.ts';
export type { MailOptions } from './mail.ts';
export { sampleStorePath } from './sample-store.ts';

/** How long `close` waits for what is in flight, milliseconds. */
const CLOSE_WITHIN_MS = 10_000;

/** While serving, a write that has to wait for an import is put off instead: the whole service would wait with it. */
const BUSY_TIMEOUT_MS = 0;

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
  /** Where mail is looked into. Default: with `sample` its own world of mail; else this machine's DNS, and no mail servers. */
  readonly mail?: MailOptions;
  /** Structured access log without personal data; default none. */
  readonly log?: (entry: Record<string, unknown>) => void;
}

export interface RunningService {
  /** Origin without a trailing slash. */
  readonly url: string;
  readonly port: number;
  /** Answers what is in flight (10 s at most), writes what is pending, and lets go of the store. Safe to call twice. */
  close(): Promise<void>;
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
  const journal = new Journal(store, (error) => log?.({ event: 'store_write_failed', error: error instanceof Error ? error.message : String(error) }));
  try {
    if (options.sample === true) await loadSample(store);
    store.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    const keys = new KeyRing(store, journal, clock);
    if (options.sample === true) keys.accept(SAMPLE_KEY, { id: 'key_sample', policy: 'enterprise', rpm: null, region });
    if (options.embeddedKey !== undefined) {
      const { key, rpm } = options.embeddedKey;
      keys.accept(key, { id: `key_embedded_${randomBytes(8).toString('hex')}`, policy: rpm === null ? 'enterprise' : 'embedded', rpm, region });
    }
    const opened = await openMail(options.mail ?? (options.sample === true ? { world: await readSampleWorld() } : {}), clock, now);
    mail = opened;
    const directory = openDirectory(store, clock);
    const quota = new KeptQuota(store, journal, clock, now);
    const app = buildApp({
      directory,
      search: new SearchIndex(store, now),
      signals: new SignalFeed(store),
      verifier: opened.verifier,
      evidence: withLearntPatterns(directory, store, clock),
      keys,
      quota,
      idempotency: new Idempotency(store, journal, now),
      journal,
      region,
      nextFate: fates(options.faults ?? {}),
      clock,
      now,
      log,
    });
    await listen(app.fastify, host, options.port ?? 0);
    const address = app.fastify.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;

    const stop = async (): Promise<void> => {
      const force = setTimeout(() => app.fastify.server.closeAllConnections(), CLOSE_WITHIN_MS);
      // What waits for a mail server is answered as pending.
      opened.verifier.close();
      try {
        await app.close();
      } finally {
        clearTimeout(force);
        await opened.close();
        quota.settle();
        journal.close();
        store.close();
      }
    };
    let stopping: Promise<void> | null = null;
    return { url: `http://${reachable(host)}:${port}`, port, close: () => (stopping ??= stop()) };
  } catch (error) {
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
