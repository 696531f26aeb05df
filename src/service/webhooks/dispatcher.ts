/** Claims due deliveries from the store and makes their attempts. */
import { isUnreadable } from '../../sqlite/system-code.ts';
import type { KeyRing } from '../accounts/key-ring.ts';
import type { StoreWrites } from '../calls/store-writes.ts';
import type { Store } from '../store/store.ts';
import type { Resolver } from '../../verification/dns/resolver.ts';
import type { ServiceLog } from '../monitoring/log.ts';
import type { StoreHealth } from '../monitoring/store-health.ts';
import { type Claimed, lastOf } from './delivery.ts';
import { unpackBody, type DeliveryRows } from './delivery-rows.ts';
import { erasedTest } from './erase-deliveries.ts';
import type { Conclusion, Outbox } from './outbox.ts';
import { FairQueue } from './fair-queue.ts';
import { HostBackoff } from './backoff.ts';
import { AttemptSender, type Attempt } from './attempt.ts';
import { HalfOpenProbes } from './half-open.ts';
import { retryAfterHeaderMs, pauseMs, retryAfterMs } from './retry-schedule.ts';
import { signedHeaders } from '../../util/signed-headers.ts';
import { secretOfKey } from './secrets.ts';
import { ConcurrencySlots, type Destination } from './concurrency.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** How long a claim lasts: longer than an attempt and the write of its result. Then any process may claim the delivery. */
const CLAIM_MS = 60_000;
/** Attempts that one poll starts at most: each takes a fraction of a millisecond from requests. */
const BATCH = 16;
/** After this many polls in a row that started nothing, the next poll waits for an event or the next tick. */
const MAX_EMPTY_POLLS = 16;
/** Limits of attempts under way. */
const ATTEMPTS = { total: 64, perHost: 16 } as const;
/** How long `close` waits for attempts under way, milliseconds. */
const CLOSE_WITHIN_MS = 5_000;
const GONE = 410;
/** Statuses of an overloaded receiver (Standard Webhooks): it gets one attempt at a time. */
const BUSY: readonly number[] = [429, 502, 503, 504];

/** Counted results. `failed` has no further attempt; `dropped` exceeded the limit of deliveries; `erased` named an erased person. */
export type Result = 'delivered' | 'failed' | 'retried' | 'dropped' | 'erased';

interface DispatcherOptions {
  readonly store: Store;
  readonly webhooks: WebhookRows;
  readonly deliveries: DeliveryRows;
  readonly writes: StoreWrites;
  readonly outbox: Outbox;
  readonly keys: Pick<KeyRing, 'digestsOf'>;
  readonly isDevelopment: boolean;
  readonly resolver: Pick<Resolver, 'addresses'>;
  readonly now: () => number;
  readonly random: () => number;
  readonly log: ServiceLog | null;
  readonly health: Pick<StoreHealth, 'damaged'>;
  /** Called when a slot is free and more deliveries may be due. */
  readonly onCapacity: () => void;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #sender: AttemptSender;
  readonly #isErased: ReturnType<typeof erasedTest>;
  readonly #queue: FairQueue;
  readonly #slots = new ConcurrencySlots(ATTEMPTS);
  readonly #backoff = new HostBackoff();
  readonly #probes = new HalfOpenProbes();
  readonly #stop = new AbortController();
  /** Attempts by delivery id. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** Polls in a row that started nothing. */
  #emptyPolls = 0;
  readonly counts: Record<Result, number> = { delivered: 0, failed: 0, retried: 0, dropped: 0, erased: 0 };

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#sender = new AttemptSender(options);
    this.#queue = new FairQueue(options.deliveries);
    this.#isErased = erasedTest(options.store);
  }

  /** Starts attempts for due deliveries, as far as slots are free. */
  async sendDue(): Promise<void> {
    const { deliveries, writes, now, onCapacity } = this.#options;
    const limit = Math.min(BATCH, this.#slots.available);
    if (this.#stop.signal.aborted || limit === 0 || !deliveries.isAnyDue(now())) return;
    const claimed = await writes.write(() => this.#claim(limit));
    for (const one of claimed) this.#begin(one);
    this.#emptyPolls = claimed.length === 0 ? this.#emptyPolls + 1 : 0;
    if (claimed.length === limit || (this.#queue.isTruncated && (this.#emptyPolls + 1) % MAX_EMPTY_POLLS !== 0)) onCapacity();
  }

  /** Makes one attempt, and records nothing. Never rejects. */
  async attempt(url: string, secrets: readonly Uint8Array[], id: string, body: string): Promise<Attempt> {
    return this.#sender.send(url, signedHeaders(secrets, id, this.#options.now(), body), body, this.#stop.signal);
  }

  /** The secrets of a webhook that are valid now, the newest first. */
  secretsOf(webhookId: string): readonly Uint8Array[] {
    return this.#validNow(this.#options.webhooks.secrets(webhookId));
  }

  count(result: Result, by: number): void {
    this.counts[result] += by;
  }

  /** Waits up to `CLOSE_WITHIN_MS` for attempts under way, then aborts the rest. Aborted attempts are made again later. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(), CLOSE_WITHIN_MS);
    await Promise.all(this.#underWay.values());
    clearTimeout(timer);
    this.#stop.abort();
    this.#sender.close();
  }

  #claim(limit: number): Claimed[] {
    const { deliveries, now } = this.#options;
    const slots = this.#slots.copy();
    const claimed: Claimed[] = [];
    for (const destination of this.#queue.roundRobin(now(), (keyId) => slots.isFull(keyId))) {
      if (this.#backoff.isPaused(destination, now())) continue;
      const taken = deliveries.claim(
        destination,
        now(),
        now() + CLAIM_MS,
        Math.min(limit - claimed.length, slots.freeFor(destination)),
        this.#probeOf(destination),
      );
      for (const one of taken) slots.acquire(one);
      claimed.push(...taken);
      if (claimed.length === limit) break;
    }
    const isUnderWay = ({ id }: Claimed): boolean => this.#underWay.has(id);
    // A redelivery was requested during an attempt of the same delivery. It stays due and follows that attempt.
    for (const { id } of claimed.filter(isUnderWay)) deliveries.postpone(id, now());
    return claimed.filter((one) => !isUnderWay(one));
  }

  #probeOf(destination: Destination): string | null {
    const id = this.#probes.of(destination);
    if (id === null || this.#options.deliveries.isWaiting(id)) return id;
    this.#probes.forget(destination);
    return null;
  }

  #begin(claimed: Claimed): void {
    this.#slots.acquire(claimed);
    const done = this.#deliver(claimed)
      .catch((error: unknown) => {
        // The store could not be read. Other deliveries go on; this one is retried when its claim ends.
        if (isUnreadable(error)) this.#options.health.damaged('webhooks', error);
        else this.#options.log?.write('warn', { event: 'webhooks_failed', error: error instanceof Error ? error.message : String(error) });
        return true;
      })
      .then((isHealthy) => {
        this.#slots.release(claimed, isHealthy);
        this.#underWay.delete(claimed.id);
        this.#options.onCapacity();
      });
    this.#underWay.set(claimed.id, done);
  }

  /**
   * Makes one attempt. Returns whether the destination is healthy: its answer shows no overload, or it was not called.
   * @throws errors of the store
   */
  async #deliver(claimed: Claimed): Promise<boolean> {
    const { outbox, keys, now } = this.#options;
    const { keyId, id, webhookId, url, attempts, isDisabled } = claimed;
    const body = unpackBody(claimed.packed);
    const digests = keys.digestsOf(keyId);
    if (this.#isErased({ ...claimed, body })) {
      this.count('erased', 1);
      outbox.conclude(claimed, { kind: 'erased' });
      return true;
    }
    if (digests.length === 0 || isDisabled || body === null) {
      const why = digests.length === 0 ? 'key_revoked' : isDisabled ? 'webhook_disabled' : 'unreadable';
      this.count('failed', 1);
      outbox.conclude(claimed, { kind: 'given_up', why });
      if (why === 'unreadable')
        this.#options.log?.write('warn', {
          event: 'webhook_delivery',
          delivery: id,
          webhook: webhookId,
          attempt: attempts,
          state: 'failed',
          status: null,
          error: why,
        });
      return true;
    }
    const secrets = this.#secretsFor(claimed, digests);
    // The webhook and its deliveries were deleted after the claim.
    if (secrets.length === 0) return true;
    const attempt = await this.attempt(url, secrets, id, body);
    const nowMs = now();
    const requestedMs = retryAfterHeaderMs(attempt.status === null ? undefined : attempt.retryAfter, nowMs);
    const conclusion = this.#conclusionOf(claimed, attempt, requestedMs, nowMs);
    const forMs = pauseMs(attempt.status, requestedMs);
    this.#backoff.pause(claimed, nowMs, forMs);
    if (forMs > 0) this.#probes.note(claimed, id, attempts + 1);
    outbox.conclude(claimed, conclusion);
    this.#record(claimed, attempt, conclusion);
    return attempt.status === null ? attempt.error === 'stopped' : !BUSY.includes(attempt.status);
  }

  /**
   * The secrets of the webhook; empty when it was deleted. A `webhook_url` uses the secrets of the key's webhook with the same URL, or
   * secrets derived from the API keys.
   */
  #secretsFor({ webhookId, keyId, url }: Claimed, digests: readonly Uint8Array[]): readonly Uint8Array[] {
    const { webhooks } = this.#options;
    if (webhookId !== null) return this.secretsOf(webhookId);
    const found = webhooks.secretsByUrl(keyId, url);
    return found === null ? digests.map(secretOfKey) : this.#validNow(found);
  }

  #validNow(found: ReturnType<WebhookRows['secrets']>): readonly Uint8Array[] {
    if (found === null) return [];
    const { secret, former, formerUntilMs } = found;
    return former !== null && this.#options.now() < formerUntilMs ? [secret, former] : [secret];
  }

  #conclusionOf({ attempts: failed }: Claimed, attempt: Attempt, requestedMs: number | null, nowMs: number): Conclusion {
    const { status } = attempt;
    if (attempt.error === 'stopped') return { kind: 'released' };
    const attempts = failed + 1;
    const common = { attempts, ...lastOf(attempt, nowMs) };
    if (status !== null && status >= 200 && status < 300)
      return { kind: 'settled', outcome: { ...common, state: 'delivered', nextMs: null } };
    if (status === GONE) return { kind: 'gone', outcome: { ...common, state: 'failed', nextMs: null } };
    const waitMs = retryAfterMs(attempts, this.#options.random(), requestedMs);
    return {
      kind: 'settled',
      outcome: waitMs === null ? { ...common, state: 'failed', nextMs: null } : { ...common, state: 'pending', nextMs: nowMs + waitMs },
    };
  }

  #record({ id, webhookId, attempts }: Claimed, { status, error }: Attempt, conclusion: Conclusion): void {
    if (conclusion.kind === 'released' || !('outcome' in conclusion)) return;
    const { state } = conclusion.outcome;
    this.count(state === 'pending' ? 'retried' : state, 1);
    // The URL is left out because it may contain a secret.
    this.#options.log?.write(state === 'failed' ? 'warn' : 'debug', {
      event: 'webhook_delivery',
      delivery: id,
      webhook: webhookId,
      attempt: attempts + 1,
      state,
      status,
      error,
    });
  }
}
