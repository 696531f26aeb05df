/** Takes what is due out of the store and delivers it. */
import { isDamage } from '../../sqlite/system-code.ts';
import type { KeyRing } from '../key-ring.ts';
import type { StoreWrites } from '../store-writes.ts';
import type { Store } from '../store/store.ts';
import type { Resolver } from '../../verification/dns/resolver.ts';
import type { ServiceLog } from '../watch/log.ts';
import type { StoreHealth } from '../watch/store-health.ts';
import { type Claimed, lastOf } from './delivery.ts';
import { unpackBody, type DeliveryRows } from './delivery-rows.ts';
import { erasedTest } from './erased.ts';
import type { Conclusion, Outbox } from './outbox.ts';
import { Lanes } from './lanes.ts';
import { Pauses } from './pauses.ts';
import { Poster, type Attempt } from './post.ts';
import { Probes } from './probes.ts';
import { askedMs, pauseMs, retryAfterMs } from './retries.ts';
import { secretOfKey, signedHeaders } from './signature.ts';
import { Slots, type Lane } from './slots.ts';
import type { WebhookRows } from './webhook-rows.ts';

/** For how long one is taken: longer than an attempt takes, and what becomes of it to be written. After that it is anybody's again. */
const TAKEN_MS = 60_000;
/** Begun in one go: each takes a fraction of a millisecond from requests. */
const AT_ONCE = 16;
/** Looks one after the other in which nothing was begun; for more it is waited until something happens, or a second has passed. */
const IN_VAIN = 16;
/** Under way. */
const DELIVERIES = { most: 64, mostAHost: 16 } as const;
/** How long `close` waits for receivers, milliseconds. */
const CLOSE_WITHIN_MS = 5_000;
const GONE = 410;
/** Too many requests, or too few servers, as Standard Webhooks reads them: it goes easier then. */
const BUSY: readonly number[] = [429, 502, 503, 504];

/** What was counted: settled well or for good, to be tried again, dropped because there were too many, erased with whom they named. */
export type Result = 'delivered' | 'failed' | 'retried' | 'dropped' | 'erased';

export interface CourierOptions {
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
  /** Called when there may be more to begin. */
  readonly onRoom: () => void;
}

export class Courier {
  readonly #options: CourierOptions;
  readonly #poster: Poster;
  readonly #isErased: ReturnType<typeof erasedTest>;
  readonly #lanes: Lanes;
  readonly #slots = new Slots(DELIVERIES);
  readonly #pauses = new Pauses();
  readonly #probes = new Probes();
  readonly #stop = new AbortController();
  /** By id. */
  readonly #underWay = new Map<string, Promise<void>>();
  /** Looks in a row in which nothing was begun. */
  #inVain = 0;
  readonly counts: Record<Result, number> = { delivered: 0, failed: 0, retried: 0, dropped: 0, erased: 0 };

  constructor(options: CourierOptions) {
    this.#options = options;
    this.#poster = new Poster(options);
    this.#lanes = new Lanes(options.deliveries);
    this.#isErased = erasedTest(options.store);
  }

  /** Begins to deliver some of what is due, as far as there is room. */
  async sendDue(): Promise<void> {
    const { deliveries, writes, now, onRoom } = this.#options;
    const most = Math.min(AT_ONCE, this.#slots.room);
    if (this.#stop.signal.aborted || most === 0 || !deliveries.isAnyDue(now())) return;
    const claimed = await writes.write(() => this.#claim(most));
    for (const one of claimed) this.#begin(one);
    this.#inVain = claimed.length === 0 ? this.#inVain + 1 : 0;
    if (claimed.length === most || (this.#lanes.isCut && (this.#inVain + 1) % IN_VAIN !== 0)) onRoom();
  }

  /** One attempt by the webhook's own secrets; nothing of it is kept. @throws nothing */
  async attempt(url: string, secrets: readonly Uint8Array[], id: string, body: string): Promise<Attempt> {
    return this.#poster.post(url, signedHeaders(secrets, id, this.#options.now(), body), body, this.#stop.signal);
  }

  /** The secrets that sign for a webhook now, the newest first. */
  secretsOf(webhookId: string): readonly Uint8Array[] {
    return this.#inForce(this.#options.webhooks.secrets(webhookId));
  }

  count(result: Result, by: number): void {
    this.counts[result] += by;
  }

  /** Waits some seconds for what is under way; what has no end by then is left to be tried again. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.#stop.abort(), CLOSE_WITHIN_MS);
    await Promise.all(this.#underWay.values());
    clearTimeout(timer);
    this.#stop.abort();
    this.#poster.close();
  }

  #claim(most: number): Claimed[] {
    const { deliveries, now } = this.#options;
    const slots = this.#slots.copy();
    const claimed: Claimed[] = [];
    for (const lane of this.#lanes.inTurn(now(), (keyId) => slots.isFull(keyId))) {
      if (this.#pauses.isPaused(lane, now())) continue;
      const taken = deliveries.claim(lane, now(), now() + TAKEN_MS, Math.min(most - claimed.length, slots.free(lane)), this.#probeOf(lane));
      for (const one of taken) slots.take(one);
      claimed.push(...taken);
      if (claimed.length === most) break;
    }
    const isOurs = ({ id }: Claimed): boolean => this.#underWay.has(id);
    // It was asked for again meanwhile, and has its turn once that attempt is over.
    for (const { id } of claimed.filter(isOurs)) deliveries.take(id, now());
    return claimed.filter((one) => !isOurs(one));
  }

  #probeOf(lane: Lane): string | null {
    const id = this.#probes.of(lane);
    if (id === null || this.#options.deliveries.isWaiting(id)) return id;
    this.#probes.forget(lane);
    return null;
  }

  #begin(claimed: Claimed): void {
    this.#slots.take(claimed);
    const done = this.#deliver(claimed).catch((error: unknown) => {
      // The store could not be read: nobody else is to suffer by it, and it is tried again once it is not taken any more.
      if (isDamage(error)) this.#options.health.damaged('webhooks', error);
      else this.#options.log?.write('warn', { event: 'webhooks_failed', error: error instanceof Error ? error.message : String(error) });
      return true;
    }).then((isWell) => {
      this.#slots.giveBack(claimed, isWell);
      this.#underWay.delete(claimed.id);
      this.#options.onRoom();
    });
    this.#underWay.set(claimed.id, done);
  }

  /** Returns whether there is no reason to go easy on the host: it answered, and not that it is busy, or was not asked. @throws what reading the store throws */
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
      if (why === 'unreadable') this.#options.log?.write('warn', { event: 'webhook_delivery', delivery: id, webhook: webhookId, attempt: attempts, state: 'failed', status: null, error: why });
      return true;
    }
    const secrets = this.#secretsFor(claimed, digests);
    // Its webhook was deleted as soon as it was taken, and the delivery with it.
    if (secrets.length === 0) return true;
    const attempt = await this.attempt(url, secrets, id, body);
    const nowMs = now();
    const asked = askedMs(attempt.status === null ? undefined : attempt.retryAfter, nowMs);
    const conclusion = this.#conclusionOf(claimed, attempt, asked, nowMs);
    const forMs = pauseMs(attempt.status, asked);
    this.#pauses.pause(claimed, nowMs, forMs);
    if (forMs > 0) this.#probes.note(claimed, id, attempts + 1);
    outbox.conclude(claimed, conclusion);
    this.#tell(claimed, attempt, conclusion);
    return attempt.status === null ? attempt.error === 'stopped' : !BUSY.includes(attempt.status);
  }

  /** Of the webhook, none where there is none any more; of an address that came with a request, those of the key's webhook with just this address, else those which the key's own secrets make. */
  #secretsFor({ webhookId, keyId, url }: Claimed, digests: readonly Uint8Array[]): readonly Uint8Array[] {
    const { webhooks } = this.#options;
    if (webhookId !== null) return this.secretsOf(webhookId);
    const found = webhooks.secretsByUrl(keyId, url);
    return found === null ? digests.map(secretOfKey) : this.#inForce(found);
  }

  #inForce(found: ReturnType<WebhookRows['secrets']>): readonly Uint8Array[] {
    if (found === null) return [];
    const { secret, former, formerUntilMs } = found;
    return former !== null && this.#options.now() < formerUntilMs ? [secret, former] : [secret];
  }

  #conclusionOf({ attempts: before }: Claimed, attempt: Attempt, asked: number | null, nowMs: number): Conclusion {
    const { status } = attempt;
    if (attempt.error === 'stopped') return { kind: 'released' };
    const attempts = before + 1;
    const common = { attempts, ...lastOf(attempt, nowMs) };
    if (status !== null && status >= 200 && status < 300) return { kind: 'settled', outcome: { ...common, state: 'delivered', nextMs: null } };
    if (status === GONE) return { kind: 'gone', outcome: { ...common, state: 'failed', nextMs: null } };
    const waitMs = retryAfterMs(attempts, this.#options.random(), asked);
    return { kind: 'settled', outcome: waitMs === null ? { ...common, state: 'failed', nextMs: null } : { ...common, state: 'pending', nextMs: nowMs + waitMs } };
  }

  #tell({ id, webhookId, attempts }: Claimed, { status, error }: Attempt, conclusion: Conclusion): void {
    if (conclusion.kind === 'released' || !('outcome' in conclusion)) return;
    const { state } = conclusion.outcome;
    this.count(state === 'pending' ? 'retried' : state, 1);
    // No address: there may be a secret in it.
    this.#options.log?.write(state === 'failed' ? 'warn' : 'debug', { event: 'webhook_delivery', delivery: id, webhook: webhookId, attempt: attempts + 1, state, status, error });
  }
}
