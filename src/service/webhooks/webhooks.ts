/**
 * Webhooks at work: looks for what is to be told, and delivers it. What is to be delivered is in the store first, so that a crash loses nothing; who delivers
 * takes it for a while, so that of several services over one store one does.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { isDamage } from '../../sqlite/system-code.ts';
import { ServiceError } from '../errors.ts';
import type { KeyRing } from '../key-ring.ts';
import { StoreWrites } from '../store-writes.ts';
import type { Directory } from '../store/directory.ts';
import type { Journal } from '../store/journal.ts';
import type { SignalFeed } from '../store/signal-feed.ts';
import type { Store } from '../store/store.ts';
import type { ServiceLog } from '../watch/log.ts';
import type { StoreHealth } from '../watch/store-health.ts';
import type { About, Announce, Announcement, EventType } from './announcement.ts';
import { Courier } from './courier.ts';
import { DeliveryRows } from './delivery-rows.ts';
import { NameCheck } from './name-check.ts';
import { News } from './news.ts';
import { Outbox } from './outbox.ts';
import { pruneDeliveries, setRight } from './prune.ts';
import { Subscriptions } from './subscriptions.ts';
import { WebhookRows } from './webhook-rows.ts';

/** How often it is looked whether others wrote to the store, or something is due, milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** Between two looks, however much there is to do, milliseconds: each takes a few. */
const APART_MS = 20;
const PRUNE_EVERY_MS = 60_000;
/** Before that where so many deliveries were made: to drop, give up or move more of one webhook takes long. */
const PRUNE_AFTER = 50_000;

export interface WebhooksOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly keys: Pick<KeyRing, 'digestsOf'>;
  readonly signals: SignalFeed;
  readonly directory: Directory;
  /** HTTP and private addresses are fine. */
  readonly isDevelopment: boolean;
  readonly resolver: Pick<Resolver, 'addresses'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** 0 up to 1. */
  readonly random: () => number;
  readonly log: ServiceLog | null;
  readonly health: Pick<StoreHealth, 'damaged' | 'reading'>;
}

export class Webhooks {
  readonly isDevelopment: boolean;
  readonly names: NameCheck;
  readonly rows: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly writes: StoreWrites;
  readonly news: News;
  readonly courier: Courier;
  readonly #options: WebhooksOptions;
  readonly #outbox: Outbox;
  readonly #subscriptions: Subscriptions;
  readonly #version: () => unknown;
  #seenVersion: unknown = null;
  /** What of which webhook could not be read when it was tried last. */
  readonly #damaged = new Set<string>();
  #areNewsDue = true;
  #isLookWanted = false;
  #looking: Promise<void> | null = null;
  #prunedMs: number;
  /** Monotonic, milliseconds. */
  #lookedMs = -Infinity;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** Deliveries that were not settled at the end. */
  #left: number | null = null;

  constructor(options: WebhooksOptions) {
    const { store, journal, now } = options;
    this.#options = options;
    this.isDevelopment = options.isDevelopment;
    this.names = new NameCheck(options);
    this.rows = new WebhookRows(store);
    this.deliveries = new DeliveryRows(store);
    const parts = { ...options, webhooks: this.rows, deliveries: this.deliveries };
    // It comes before the changes: what became of a delivery is written before it can be taken again.
    this.#outbox = new Outbox({ ...parts, onWritten: () => this.wake() });
    this.writes = new StoreWrites(store, journal);
    this.news = new News({ ...parts, writes: this.writes });
    this.courier = new Courier({ ...parts, writes: this.writes, outbox: this.#outbox, onRoom: () => this.wake() });
    this.#subscriptions = new Subscriptions(this.rows, options.keys);
    const version = store.prepare('PRAGMA data_version');
    this.#version = () => version.get()?.['data_version'];
    this.#prunedMs = now();
  }

  /** Begins to look by itself. */
  start(): void {
    this.#options.health.reading('webhooks', () => this.#subscriptions.reload(), undefined);
    this.#timer = setInterval(() => {
      try {
        this.#tick();
      } catch (error) {
        // A store that cannot be read for a moment must not end the process.
        this.#tellOf(error);
      }
    }, LOOK_EVERY_MS);
    this.wake();
  }

  /** Ends what is under way, for which it waits some seconds, and begins nothing more. What is left is for the next process. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#looking;
    await this.courier.close();
    this.#left = this.#options.health.reading('webhooks', () => this.deliveries.pending(), 0);
  }

  /** How many deliveries are not settled. */
  get pending(): number {
    return this.#left ?? this.deliveries.pending();
  }

  /** Keeps what is to be told, within a transaction of the store; it is sent after that was committed. */
  readonly announce: Announce = (announcement) => this.#outbox.announce(announcement);

  /** Keeps what is to be told, to be written together with what the answer costs that it belongs to; what is returned takes it back. */
  collect(announcement: Announcement, about?: About): () => void {
    return this.#outbox.collect(announcement, about);
  }

  /** Takes back what was collected and is not written. */
  withdraw(isIt: (announcement: Announcement) => boolean): void {
    this.#outbox.withdraw(isIt);
  }

  /** Whether anybody is to be told: it costs next to nothing to ask. */
  wants(keyId: string, type: EventType, webhookUrl: string | null): boolean {
    return webhookUrl !== null || this.#subscriptions.wants(keyId, type);
  }

  /** Webhooks were changed here. */
  changed(): void {
    this.#subscriptions.reload();
    this.#areNewsDue = true;
    this.wake();
  }

  /** Has it looked, soon, for what is to be told and to be sent. */
  wake(): void {
    this.#isLookWanted = true;
    if (this.#isClosed) return;
    this.#looking ??= this.#lookOnAndOn().finally(() => {
      this.#looking = null;
    });
  }

  #tick(): void {
    const version = this.#version();
    const { now } = this.#options;
    const isDue = version !== this.#seenVersion || this.#areNewsDue || this.deliveries.isAnyDue(now()) || this.#isPruneDue;
    if (version !== this.#seenVersion) this.#areNewsDue = true;
    this.#seenVersion = version;
    if (isDue) this.wake();
  }

  async #lookOnAndOn(): Promise<void> {
    while (this.#isLookWanted && !this.#isClosed) {
      this.#isLookWanted = false;
      await this.#pause();
      try {
        await this.#look();
      } catch (error) {
        this.#areNewsDue = true;
        // A store that is busy: it is looked again in a moment, and the journal tells of it when that lasts.
        if (!(error instanceof ServiceError)) this.#tellOf(error);
        return;
      } finally {
        this.#lookedMs = performance.now();
      }
    }
  }

  #tellOf(error: unknown): void {
    if (isDamage(error)) this.#options.health.damaged('webhooks', error);
    else this.#options.log?.write('warn', { event: 'webhooks_failed', error: error instanceof Error ? error.message : String(error) });
  }

  /** What runs now is first to come to its end; and when there is much to do, requests are answered in between. */
  async #pause(): Promise<void> {
    const waitMs = this.#lookedMs + APART_MS - performance.now();
    await (waitMs > 0 ? setTimeout(waitMs) : setImmediate());
  }

  async #look(): Promise<void> {
    if (this.#areNewsDue) {
      this.#areNewsDue = false;
      if (await this.#tellSome()) this.#areNewsDue = this.#isLookWanted = true;
    }
    await this.#goOn();
  }

  /** What is not put off until all were told of all. */
  async #goOn(): Promise<void> {
    if (this.#isPruneDue) await this.#prune();
    await this.courier.sendDue();
  }

  /** Some to each, so that requests are answered in between, and a million signals hold up neither changes of jobs nor who subscribes meanwhile. Returns whether there may be more. */
  async #tellSome(): Promise<boolean> {
    this.#subscriptions.reload();
    const { ofSignals, ofChanges } = this.#subscriptions;
    const turns = [...ofSignals.map((id) => () => this.#tellOne(`signals ${id}`, () => this.news.tellSignals(id))), ...ofChanges.map((id) => () => this.#tellOne(`changes ${id}`, () => this.news.tellChanges(id)))];
    let isMore = false;
    for (const tell of turns) {
      if (this.#isClosed) return false;
      if (await tell()) {
        isMore = true;
        await setTimeout(APART_MS);
        await this.#goOn();
      } else await setImmediate();
    }
    return isMore;
  }

  /** What of one webhook cannot be read keeps nothing from the others. It is told of once, and tried again every second. */
  async #tellOne(name: string, tell: () => Promise<boolean>): Promise<boolean> {
    try {
      const isMore = await tell();
      this.#damaged.delete(name);
      return isMore;
    } catch (error) {
      // A store that is busy is so for all.
      if (error instanceof ServiceError) throw error;
      this.#seenVersion = null;
      if (!this.#damaged.has(name)) this.#tellOf(error);
      this.#damaged.add(name);
      return false;
    }
  }

  get #isPruneDue(): boolean {
    return this.deliveries.added >= PRUNE_AFTER || Math.abs(this.#options.now() - this.#prunedMs) >= PRUNE_EVERY_MS;
  }

  async #prune(): Promise<void> {
    const nowMs = this.#options.now();
    this.deliveries.added = 0;
    const parts = { webhooks: this.rows, deliveries: this.deliveries, writes: this.writes };
    const { lost, isMore } = await pruneDeliveries(parts, nowMs);
    this.courier.count('dropped', lost);
    this.#prunedMs = isMore ? 0 : nowMs;
    this.#subscriptions.reload();
    await this.news.prune(this.#subscriptions.ofChanges);
    await setRight(parts, nowMs);
  }
}
