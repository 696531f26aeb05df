/**
 * The poll loop of webhooks: fan-out of new events, dispatch of due deliveries, pruning. Deliveries are stored before they are sent, so a
 * crash loses none. A process claims a delivery for a time, so that no other process sends it, too.
 */
import { setImmediate, setTimeout } from 'node:timers/promises';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { isUnreadable } from '../../sqlite/system-code.ts';
import { ServiceError } from '../http/problem.ts';
import type { KeyRing } from '../accounts/key-ring.ts';
import { StoreWrites } from '../calls/store-writes.ts';
import type { Directory } from '../store/directory.ts';
import type { Journal } from '../store/journal.ts';
import type { SignalFeed } from '../store/rows/signal-feed.ts';
import type { Store } from '../store/store.ts';
import type { ServiceLog } from '../monitoring/log.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';
import type { About, Announce, Announcement, EventType } from './announcement.ts';
import { Dispatcher } from './dispatcher.ts';
import { DeliveryRows } from './delivery-rows.ts';
import { NameCheck } from './name-check.ts';
import { FanOut } from './fan-out.ts';
import { Outbox } from './outbox.ts';
import { pruneDeliveries, repairSchedules } from './prune.ts';
import { Subscriptions } from './subscriptions.ts';
import { WebhookRows } from './webhook-rows.ts';

/** How often it polls for writes of other processes and for due deliveries, milliseconds. */
const POLL_EVERY_MS = 1_000;
/** Pause between two polls, milliseconds: a poll takes a few milliseconds from requests. */
const POLL_PAUSE_MS = 20;
const PRUNE_EVERY_MS = 60_000;
/** Prunes earlier after this many new deliveries: dropping more of one webhook takes long. */
const PRUNE_AFTER = 50_000;

export interface WebhooksOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly keys: Pick<KeyRing, 'digestsOf'>;
  readonly signals: SignalFeed;
  readonly directory: Directory;
  /** Allows HTTP and private addresses. */
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
  readonly fanOut: FanOut;
  readonly dispatcher: Dispatcher;
  readonly #options: WebhooksOptions;
  readonly #outbox: Outbox;
  readonly #subscriptions: Subscriptions;
  readonly #version: () => unknown;
  #seenVersion: unknown = null;
  /** Fan-out steps (stream and webhook) whose last run failed. */
  readonly #damaged = new Set<string>();
  #isFanOutDue = true;
  #isPollWanted = false;
  #polling: Promise<void> | null = null;
  #prunedMs: number;
  /** Monotonic, milliseconds. */
  #polledMs = -Infinity;
  #timer: NodeJS.Timeout | null = null;
  #isClosed = false;
  /** Pending deliveries at `close`; null before. */
  #pendingAtClose: number | null = null;

  constructor(options: WebhooksOptions) {
    const { store, journal, now } = options;
    this.#options = options;
    this.isDevelopment = options.isDevelopment;
    this.names = new NameCheck(options);
    this.rows = new WebhookRows(store);
    this.deliveries = new DeliveryRows(store);
    const parts = { ...options, webhooks: this.rows, deliveries: this.deliveries };
    // The outbox comes first: the result of an attempt is written before the delivery can be claimed again.
    this.#outbox = new Outbox({ ...parts, onWritten: () => this.wake() });
    this.writes = new StoreWrites(store, journal);
    this.fanOut = new FanOut({ ...parts, writes: this.writes });
    this.dispatcher = new Dispatcher({ ...parts, writes: this.writes, outbox: this.#outbox, onCapacity: () => this.wake() });
    this.#subscriptions = new Subscriptions(this.rows, options.keys);
    const versions = [store, store.books].map((file) => file.prepare('PRAGMA data_version'));
    this.#version = () => versions.map((version) => version.get()?.['data_version']).join();
    this.#prunedMs = now();
  }

  /** Starts the poll loop. */
  start(): void {
    this.#options.health.reading('webhooks', () => this.#subscriptions.reload(), undefined);
    this.#timer = setInterval(() => {
      try {
        this.#tick();
      } catch (error) {
        // A store that cannot be read for a moment must not crash the process.
        this.#logFailure(error);
      }
    }, POLL_EVERY_MS);
    this.wake();
  }

  /** Stops polling, and waits up to five seconds for attempts under way. The next process sends the rest. */
  async close(): Promise<void> {
    this.#isClosed = true;
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#polling;
    await this.dispatcher.close();
    this.#pendingAtClose = this.#options.health.reading('webhooks', () => this.deliveries.pending(), 0);
  }

  /** The number of pending deliveries. */
  get pending(): number {
    return this.#pendingAtClose ?? this.deliveries.pending();
  }

  /** Saves an event within the caller's transaction; it is sent after the commit. */
  readonly announce: Announce = (announcement) => this.#outbox.announce(announcement);

  /** Collects an event, to be written together with the charge of its answer. Returns a function that withdraws it. */
  collect(announcement: Announcement, about?: About): () => void {
    return this.#outbox.collect(announcement, about);
  }

  /** Withdraws collected events that are not written yet. */
  withdraw(matches: (announcement: Announcement) => boolean): void {
    this.#outbox.withdraw(matches);
  }

  /** Whether a webhook or the request's `webhook_url` wants an event. Reads no store. */
  wants(keyId: string, type: EventType, webhookUrl: string | null): boolean {
    return webhookUrl !== null || this.#subscriptions.wants(keyId, type);
  }

  /** Called after a change of webhooks in this process. */
  changed(): void {
    this.#subscriptions.reload();
    this.#isFanOutDue = true;
    this.wake();
  }

  /** Polls soon. */
  wake(): void {
    this.#isPollWanted = true;
    if (this.#isClosed) return;
    this.#polling ??= this.#pollLoop().finally(() => {
      this.#polling = null;
    });
  }

  #tick(): void {
    const version = this.#version();
    const { now } = this.#options;
    const isDue = version !== this.#seenVersion || this.#isFanOutDue || this.deliveries.isAnyDue(now()) || this.#isPruneDue;
    if (version !== this.#seenVersion) this.#isFanOutDue = true;
    this.#seenVersion = version;
    if (isDue) this.wake();
  }

  async #pollLoop(): Promise<void> {
    while (this.#isPollWanted && !this.#isClosed) {
      this.#isPollWanted = false;
      await this.#pause();
      try {
        await this.#poll();
      } catch (error) {
        this.#isFanOutDue = true;
        // The store is busy: the next poll tries again, and the journal reports a store that stays busy.
        if (!(error instanceof ServiceError)) this.#logFailure(error);
        return;
      } finally {
        this.#polledMs = performance.now();
      }
    }
  }

  #logFailure(error: unknown): void {
    if (isUnreadable(error)) this.#options.health.damaged('webhooks', error);
    else this.#options.log?.write('warn', { event: 'webhooks_failed', error: error instanceof Error ? error.message : String(error) });
  }

  /** Lets requests run between two polls. */
  async #pause(): Promise<void> {
    const waitMs = this.#polledMs + POLL_PAUSE_MS - performance.now();
    await (waitMs > 0 ? setTimeout(waitMs) : setImmediate());
  }

  async #poll(): Promise<void> {
    if (this.#isFanOutDue) {
      this.#isFanOutDue = false;
      if (await this.#fanOutSome()) this.#isFanOutDue = this.#isPollWanted = true;
    }
    await this.#pruneAndDispatch();
  }

  /** Also runs between the steps of a long fan-out. */
  async #pruneAndDispatch(): Promise<void> {
    if (this.#isPruneDue) await this.#prune();
    await this.dispatcher.sendDue();
  }

  /**
   * Runs one step for each webhook and stream, so that a million signals delay neither job changes nor new webhooks. Returns whether more
   * may be left.
   */
  async #fanOutSome(): Promise<boolean> {
    this.#subscriptions.reload();
    const { ofSignals, ofChanges } = this.#subscriptions;
    const steps = [
      ...ofSignals.map((id) => () => this.#fanOutTo(`signals ${id}`, () => this.fanOut.fanOutSignals(id))),
      ...ofChanges.map((id) => () => this.#fanOutTo(`changes ${id}`, () => this.fanOut.fanOutChanges(id))),
    ];
    let isMore = false;
    for (const step of steps) {
      if (this.#isClosed) return false;
      if (await step()) {
        isMore = true;
        await setTimeout(POLL_PAUSE_MS);
        await this.#pruneAndDispatch();
      } else await setImmediate();
    }
    return isMore;
  }

  /** Runs one step. A webhook that cannot be read does not stop the others; it is logged once and tried again every second. */
  async #fanOutTo(name: string, step: () => Promise<boolean>): Promise<boolean> {
    try {
      const isMore = await step();
      this.#damaged.delete(name);
      return isMore;
    } catch (error) {
      // The store is busy for every webhook.
      if (error instanceof ServiceError) throw error;
      this.#seenVersion = null;
      if (!this.#damaged.has(name)) this.#logFailure(error);
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
    this.dispatcher.count('dropped', lost);
    this.#prunedMs = isMore ? 0 : nowMs;
    this.#subscriptions.reload();
    this.fanOut.prune(this.#subscriptions.ofChanges);
    await repairSchedules(parts, nowMs);
  }
}
