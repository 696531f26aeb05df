/** Processes that deliver webhooks from one store, with a clock that the test sets. */
import { hash } from 'node:crypto';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { SignalFeed } from '../../../src/service/store/rows/signal-feed.ts';
import type { Store } from '../../../src/service/store/store.ts';
import type { ServiceLog } from '../../../src/service/monitoring/log.ts';
import type { EventType } from '../../../src/service/webhooks/announcement.ts';
import type { NewDelivery } from '../../../src/service/webhooks/delivery.ts';
import { packBody } from '../../../src/service/webhooks/delivery-rows.ts';
import { newSecret } from '../../../src/service/webhooks/secrets.ts';
import { Webhooks, type WebhooksOptions } from '../../../src/service/webhooks/webhooks.ts';
import { StoreHealth } from '../../../src/service/monitoring/store-health.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';

export const HOUR_MS = 3_600_000;

export interface Process {
  readonly hooks: Webhooks;
  readonly store: Store;
  readonly journal: Journal;
  /** An orderly stop: ends attempts under way, and writes their results. */
  end(): Promise<void>;
}

export class World {
  readonly path: string;
  /** Epoch milliseconds. */
  nowMs = Date.parse('2026-11-22T12:00:00Z');

  constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<World> {
    return new World(await makeStore());
  }

  start(more: Partial<WebhooksOptions> = {}): Process {
    const store = openStore(this.path, 0);
    const journal = new Journal(store, (error) => {
      throw error;
    });
    const hooks = new Webhooks({
      store,
      journal,
      keys: { digestsOf: () => [hash('sha256', 'key', 'buffer')] },
      signals: new SignalFeed(store),
      directory: openDirectory(store),
      isDevelopment: true,
      resolver: { addresses: async () => ({ kind: 'no_name', ttlS: null }) },
      now: () => this.nowMs,
      random: () => 0,
      log: null,
      health: new StoreHealth(this.path, null),
      ...more,
    });
    let ended: Promise<void> | null = null;
    const end = async (): Promise<void> => {
      await hooks.close();
      journal.close();
      store.close();
    };
    const once = (): Promise<void> => (ended ??= end());
    cleanUp(once);
    return { hooks, store, journal, end: once };
  }

  /** Runs a process, which polls and delivers, until `work` is done. */
  async live<T>(work: (process: Process) => Promise<T>, more?: Partial<WebhooksOptions>): Promise<T> {
    const process = this.start(more);
    process.hooks.start();
    const result = await work(process);
    await process.end();
    return result;
  }
}

/** Creates a webhook of key `k`. Returns its id. */
export function subscribe({ hooks }: Process, url: string, events: readonly EventType[] = ['batch.completed'], filter = {}): string {
  const { id } = hooks.rows.add('k', { url, events, filter, disabled: null }, newSecret(), hooks.fanOut.streamEnds(), 0);
  hooks.changed();
  return id;
}

/** Announces a batch event whose `data.n` is the given number. */
export function announce({ hooks }: Process, n: number, webhookUrl: string | null = null): void {
  hooks.announce({ type: 'batch.completed', keyId: 'k', data: { n }, webhookUrl });
}

/** The deliveries of a webhook, newest first: state, attempts, and the last status or error. */
export function states({ hooks }: Process, id: string): unknown[] {
  return hooks.deliveries
    .page(id, Number.MAX_SAFE_INTEGER, 100)
    .map(({ state, attempts, lastStatus, lastError }) => [state, attempts, lastStatus ?? lastError]);
}

const EMPTY_BODY = packBody('{"data":{}}');

/** Adds a delivery within the caller's transaction, due at `createdMs`. */
export function addDelivery({ hooks }: Process, more: Pick<NewDelivery, 'to' | 'createdMs'> & Partial<NewDelivery>): void {
  hooks.deliveries.add({
    keyId: 'k',
    host: 'h',
    type: 'batch.failed',
    body: EMPTY_BODY,
    about: { signal: null, person: null },
    ...more,
  });
}

/** A log that collects its records. */
export function recordingLog(): { readonly log: ServiceLog; readonly records: Readonly<Record<string, unknown>>[] } {
  const records: Readonly<Record<string, unknown>>[] = [];
  const write = (_level: unknown, record: Readonly<Record<string, unknown>>): void => void records.push(record);
  return { log: { write } as unknown as ServiceLog, records };
}
