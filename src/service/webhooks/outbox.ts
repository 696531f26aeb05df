/** What is to be told and what became of it, on its way into the store: collected, and written by the journal together with what the answers cost that it belongs to. */
import { transaction } from '../../sqlite/transaction.ts';
import type { Journal, Part, Pending } from '../store/journal.ts';
import type { Store } from '../store/store.ts';
import { ABOUT_NOBODY, eventBody, type About, type Announcement } from './announcement.ts';
import type { Claimed, GivenUp, Outcome } from './delivery.ts';
import { packBody, type DeliveryRows } from './delivery-rows.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** For so long nothing could be delivered to a receiver that is given up. One delivery alone is tried for three days and more. */
const DEAD_AFTER_MS = 5 * 24 * 3_600_000;

/** What becomes of a delivery that was taken. `gone`: its receiver wants no more of any. `released`: nobody can tell, and it is tried again at once. */
export type Conclusion =
  | { readonly kind: 'settled' | 'gone'; readonly outcome: Outcome }
  | { readonly kind: 'given_up'; readonly why: GivenUp }
  | { readonly kind: 'erased' }
  | { readonly kind: 'released' };

interface Collected {
  readonly announcement: Announcement;
  readonly about: About;
  readonly atMs: number;
}

export interface OutboxOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly now: () => number;
  /** Called when there may be something to send. */
  readonly onWritten: () => void;
}

export class Outbox implements Pending {
  readonly #options: OutboxOptions;
  readonly #collected = new Set<Collected>();
  /** By id of the delivery. */
  readonly #concluded = new Map<string, { readonly claimed: Claimed; readonly conclusion: Conclusion }>();

  constructor(options: OutboxOptions) {
    this.#options = options;
    options.journal.join(this, 'webhooks');
  }

  /** Writes it down now, as part of the transaction that is open. */
  announce(announcement: Announcement, about: About = ABOUT_NOBODY): void {
    const { store, now, onWritten } = this.#options;
    transaction(store, () => this.#put({ announcement, about, atMs: now() }));
    onWritten();
  }

  /** Has it written with what the journal writes next. What is returned takes it back, as long as it is not written. */
  collect(announcement: Announcement, about: About = ABOUT_NOBODY): () => void {
    const { journal, now } = this.#options;
    const collected = { announcement, about, atMs: now() };
    this.#collected.add(collected);
    journal.wake();
    return () => void this.#collected.delete(collected);
  }

  withdraw(isIt: (announcement: Announcement) => boolean): void {
    for (const collected of this.#collected) if (isIt(collected.announcement)) this.#collected.delete(collected);
  }

  conclude(claimed: Claimed, conclusion: Conclusion): void {
    this.#concluded.set(claimed.id, { claimed, conclusion });
    this.#options.journal.wake();
  }

  get size(): number {
    return this.#collected.size + this.#concluded.size;
  }

  flush(): void {
    for (const collected of this.#collected) this.#put(collected);
    for (const { claimed, conclusion } of this.#concluded.values()) this.#conclude(claimed, conclusion);
  }

  flushed(): void {
    this.#collected.clear();
    this.#concluded.clear();
    this.#options.onWritten();
  }

  /** A delivery whose row is damaged is not heard of again: it cannot be taken. */
  *parts(): Iterable<Part> {
    for (const collected of this.#collected) yield { chargedTo: collected.announcement.keyId, write: () => this.#put(collected), giveUp: () => void this.#collected.delete(collected) };
    for (const [id, { claimed, conclusion }] of this.#concluded) yield { write: () => this.#conclude(claimed, conclusion), giveUp: () => void this.#concluded.delete(id) };
  }

  #put({ announcement: { type, keyId, data, webhookUrl }, about, atMs }: Collected): void {
    const { webhooks, deliveries } = this.#options;
    const subscribed = webhooks.listeners(keyId, type);
    const common = { keyId, type, body: packBody(eventBody(type, atMs, data)), about, createdMs: atMs };
    for (const { id, url } of subscribed) deliveries.add({ ...common, to: { webhookId: id }, host: new URL(url).host });
    // Who has subscribed there hears of it once.
    if (webhookUrl !== null && !subscribed.some(({ url }) => url === webhookUrl)) deliveries.add({ ...common, to: { url: webhookUrl }, host: new URL(webhookUrl).host });
  }

  /** Notes how a webhook does. Where nothing can be delivered to it for days, and another delivery was tried to the end, its receiver is taken for dead. */
  #judge(webhookId: string, url: string, { state, lastMs }: Outcome): void {
    const { webhooks, deliveries, now } = this.#options;
    if (state === 'delivered') {
      webhooks.delivered(webhookId, url);
      return;
    }
    webhooks.failed(webhookId, url, lastMs);
    if (state !== 'failed' || !webhooks.isFailing(webhookId, url, lastMs - DEAD_AFTER_MS)) return;
    webhooks.disable(webhookId, 'failing', now());
    deliveries.giveUpAllOf(webhookId, 'webhook_disabled');
  }

  #conclude(claimed: Claimed, conclusion: Conclusion): void {
    const { webhooks, deliveries, now } = this.#options;
    const { id, webhookId, url } = claimed;
    switch (conclusion.kind) {
      case 'gone':
        if (webhookId !== null) {
          // It was the address that it had when this was sent.
          if (webhooks.isElsewhere(webhookId, url)) {
            deliveries.take(id, now());
            return;
          }
          webhooks.disable(webhookId, 'gone', now());
          deliveries.giveUpAllOf(webhookId, 'webhook_disabled');
        }
        deliveries.settle(claimed, conclusion.outcome);
        return;
      case 'settled': {
        // A failure that somebody else's attempt has overtaken says nothing: that may have been a success.
        const isNoted = deliveries.settle(claimed, conclusion.outcome);
        if (webhookId !== null && (isNoted || conclusion.outcome.state === 'delivered')) this.#judge(webhookId, url, conclusion.outcome);
        return;
      }
      case 'given_up':
        deliveries.giveUp(claimed, conclusion.why);
        return;
      case 'erased':
        deliveries.erase(id);
        return;
      case 'released':
        deliveries.take(id, now());
        return;
      default:
        conclusion satisfies never;
    }
  }
}
