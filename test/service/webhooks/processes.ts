/** Processes that deliver from one store, with a clock of the test's own. */
import { hash } from 'node:crypto';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import { SignalFeed } from '../../../src/service/store/signal-feed.ts';
import type { Store } from '../../../src/service/store/store.ts';
import type { EventType } from '../../../src/service/webhooks/announcement.ts';
import { newSecret } from '../../../src/service/webhooks/signature.ts';
import { Webhooks, type WebhooksOptions } from '../../../src/service/webhooks/webhooks.ts';
import { StoreHealth } from '../../../src/service/watch/store-health.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeStore } from '../harness.ts';

export interface Process {
  readonly hooks: Webhooks;
  readonly store: Store;
  readonly journal: Journal;
  /** As at an orderly stop: ends what is under way, and writes what became of it. */
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
    const journal = new Journal(store, (error) => { throw error; });
    const hooks = new Webhooks({
      store, journal, keys: { digestsOf: () => [hash('sha256', 'key', 'buffer')] }, signals: new SignalFeed(store), directory: openDirectory(store), isDevelopment: true,
      resolver: { addresses: async () => ({ kind: 'no_name', ttlS: null }) }, now: () => this.nowMs, random: () => 0, log: null, health: new StoreHealth(this.path, null), ...more,
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

  /** A process's whole life: it does `work`, delivers what is due until `done`, and ends. */
  async live<T>(done: (process: Process) => Promise<T>, more?: Partial<WebhooksOptions>): Promise<T> {
    const process = this.start(more);
    process.hooks.start();
    const result = await done(process);
    await process.end();
    return result;
  }
}

/** Subscribes key `k`; returns the webhook's id. */
export function subscribe({ hooks }: Process, url: string, events: readonly EventType[] = ['batch.completed'], filter = {}): string {
  const { id } = hooks.rows.add('k', { url, events, filter, disabled: null }, newSecret(), hooks.news.ends(), 0);
  hooks.changed();
  return id;
}

/** Announces a batch, `data.n` of which is the number. */
export function announce({ hooks }: Process, n: number, webhookUrl: string | null = null): void {
  hooks.announce({ type: 'batch.completed', keyId: 'k', data: { n }, webhookUrl });
}
