/** The outbox: events and results of attempts that wait for the journal. It writes events together with the charges of their answers. */
import { transaction } from '../../sqlite/transaction.ts';
import type { Journal, JournalWrite, JournalMember } from '../store/journal.ts';
import type { Store } from '../store/store.ts';
import { ABOUT_NOBODY, eventBody, type About, type Announcement } from './announcement.ts';
import type { Claimed, GivenUp, Outcome } from './delivery.ts';
import { packBody, type DeliveryRows } from './delivery-rows.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** A webhook is disabled after failures for this long, milliseconds. The attempts of one delivery take over three days. */
const DEAD_AFTER_MS = 5 * 24 * 3_600_000;

/** The result of a claimed delivery. `gone`: the receiver answered 410. `released`: the attempt was stopped, and is made again at once. */
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

interface OutboxOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly now: () => number;
  /** Called when deliveries may be due. */
  readonly onWritten: () => void;
}

export class Outbox implements JournalMember {
  readonly where = 'webhooks';
  readonly #options: OutboxOptions;
  readonly #collected = new Set<Collected>();
  /** By delivery id. */
  readonly #concluded = new Map<string, { readonly claimed: Claimed; readonly conclusion: Conclusion }>();

  constructor(options: OutboxOptions) {
    this.#options = options;
    options.journal.join(this);
  }

  /** Writes an event now. An open transaction of the caller includes it. */
  announce(announcement: Announcement, about: About = ABOUT_NOBODY): void {
    const { store, now, onWritten } = this.#options;
    transaction(store.books, () => this.#put({ announcement, about, atMs: now() }));
    onWritten();
  }

  /** Collects an event for the journal's next transaction. Until then the returned function withdraws it. */
  collect(announcement: Announcement, about: About = ABOUT_NOBODY): () => void {
    const { journal, now } = this.#options;
    const collected = { announcement, about, atMs: now() };
    this.#collected.add(collected);
    journal.wake();
    return () => void this.#collected.delete(collected);
  }

  withdraw(matches: (announcement: Announcement) => boolean): void {
    for (const collected of this.#collected) if (matches(collected.announcement)) this.#collected.delete(collected);
  }

  conclude(claimed: Claimed, conclusion: Conclusion): void {
    this.#concluded.set(claimed.id, { claimed, conclusion });
    this.#options.journal.wake();
  }

  get size(): number {
    return this.#collected.size + this.#concluded.size;
  }

  flushed(): void {
    this.#collected.clear();
    this.#concluded.clear();
    this.#options.onWritten();
  }

  /** The entries one by one, after their common write failed. The journal gives up an entry whose row is damaged. */
  *parts(): Iterable<JournalWrite> {
    for (const collected of this.#collected)
      yield {
        chargedTo: collected.announcement.keyId,
        write: () => this.#put(collected),
        giveUp: () => void this.#collected.delete(collected),
      };
    for (const [id, { claimed, conclusion }] of this.#concluded)
      yield { write: () => this.#conclude(claimed, conclusion), giveUp: () => void this.#concluded.delete(id) };
  }

  #put({ announcement: { type, keyId, data, webhookUrl }, about, atMs }: Collected): void {
    const { webhooks, deliveries } = this.#options;
    const subscribed = webhooks.listeners(keyId, type);
    const common = { keyId, type, body: packBody(eventBody(type, atMs, data)), about, createdMs: atMs };
    for (const { id, url } of subscribed) deliveries.add({ ...common, to: { webhookId: id }, host: new URL(url).host });
    // A webhook with the same URL gets the event once.
    if (webhookUrl !== null && !subscribed.some(({ url }) => url === webhookUrl))
      deliveries.add({ ...common, to: { url: webhookUrl }, host: new URL(webhookUrl).host });
  }

  /** Records success or failure of a webhook. Disables it after days of failures, once another delivery has used up its attempts. */
  #updateHealth(webhookId: string, url: string, { state, lastMs }: Outcome): void {
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
          // The webhook has another URL now, so the 410 does not apply to it.
          if (webhooks.isElsewhere(webhookId, url)) {
            deliveries.postpone(id, now());
            return;
          }
          webhooks.disable(webhookId, 'gone', now());
          deliveries.giveUpAllOf(webhookId, 'webhook_disabled');
        }
        deliveries.settle(claimed, conclusion.outcome);
        return;
      case 'settled': {
        // If another process recorded its attempt first, this failure is ignored, because that attempt may have succeeded.
        const isRecorded = deliveries.settle(claimed, conclusion.outcome);
        if (webhookId !== null && (isRecorded || conclusion.outcome.state === 'delivered'))
          this.#updateHealth(webhookId, url, conclusion.outcome);
        return;
      }
      case 'given_up':
        deliveries.giveUp(claimed, conclusion.why);
        return;
      case 'erased':
        deliveries.erase(id);
        return;
      case 'released':
        deliveries.postpone(id, now());
        return;
      default:
        conclusion satisfies never;
    }
  }
}
