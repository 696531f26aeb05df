/**
 * A pod's side of a shared quota: its leased permits, its events for the coordinator, and its own share while the store is away.
 *
 * ## joining
 * The first turn is on its way. The pod has no permits.
 *
 * ## shared
 * Entered by each successful turn. Calls use leased permits.
 *
 * ## alone
 * Entered when the store has been away for `ALONE_AFTER_MS`. Calls use the pod's own share of the plan. Left by the next successful turn.
 *
 * Pure: time is passed in, and is the pod's own, monotonic.
 */
import { CallLog } from '../../call-log.ts';
import { rpmOfShare } from '../plan-share.ts';
import { noPermits, type EndedCall, type Permits } from '../../quota-rule.ts';
import type { QuotaRules } from '../../quota-rules.ts';
import { newestCalls, type RecentSlots } from '../../recent-slots.ts';
import { MINUTE_MS } from '../../inference/quota-observations.ts';
import { leastRpm, partOfPlan, type SharedPlan } from './shared-plan.ts';
import { PERMIT_LEASE_MS, POD_LEASE_MS, type SoloCall, type QuotaEvent, type PodTurn, type PodTurnReply } from './messages.ts';

/**
 * How long the store may be away before a pod goes on alone. It is longer than the lease of a pod: by then the coordinator of the others
 * has left them their own part of the plan only, even if this pod alone is cut off.
 */
export const ALONE_AFTER_MS = POD_LEASE_MS + 1_000;
/** The most events in the outbox. Further events are too old to matter when the store is back. */
const MAX_EVENTS = 20_000;
/** Permits are requested in advance: as many as were used in this time. */
const AHEAD_MS = 100;
const MAX_WANTED = 1_000;
/** Calls are dropped at this age: a window, and as much again. */
const CALL_TTL_MS = 2 * MINUTE_MS;

interface PodOptions extends SharedPlan {
  readonly pod: string;
  /** The least number of pods that share the plan, for a pod that has not heard of any. */
  readonly podsAtLeast: number;
}

interface OwnCall {
  readonly sentMs: number;
  readonly answeredMs: number | null;
  readonly apart: boolean;
}

export type PodState = 'joining' | 'shared' | 'alone';

export class Pod {
  readonly #options: PodOptions;
  readonly #log = new CallLog();
  #state: PodState = 'joining';
  /** The part of the plan that is this pod's own. */
  #share: number;
  /** Calls of all pods within the last minute, as of the last turn. */
  #allSpent = 0;
  #leases: readonly { readonly id: string; readonly untilMs: number }[] = [];
  /** By number: its number in the log, and the id of its permit; null for a call that the pod sent alone. */
  readonly #sent = new Map<number, { readonly number: number; readonly id: string | null }>();
  #mustJoin = true;
  #outbox: QuotaEvent[] = [];
  #sending: readonly QuotaEvent[] = [];
  #askedMs = 0;
  #failingSinceMs: number | null = null;
  /** The pod's share of the plan while it is alone; its numbers are in `#ownCalls`. */
  #ownShare: QuotaRules | null = null;
  #firstMinute: { readonly untilMs: number; readonly most: number } | null = null;
  readonly #ownCalls = new Map<number, { readonly share: QuotaRules; readonly callNumber: number }>();
  #lastApartMs = -Infinity;
  /** Calls of the last minute by number, in the order of sending. */
  readonly #recent = new Map<number, OwnCall>();
  #restored: RecentSlots = [];
  /** When calls may start again, as the coordinator says. */
  #freeAtMs = 0;

  constructor(options: PodOptions) {
    this.#options = options;
    this.#share = 1 / options.podsAtLeast;
  }

  get standing(): PodState {
    return this.#state;
  }

  /** The requests a minute that this pod may use while it is alone. */
  get ownRpm(): number {
    return rpmOfShare(leastRpm(this.#options), this.#share);
  }

  /** Whether events or calls are pending. */
  get busy(): boolean {
    return this.#outbox.length > 0 || this.#sent.size > 0 || this.#leases.length > 0;
  }

  restore(slots: RecentSlots): void {
    this.#restored = slots;
    this.#log.restore(slots);
  }

  spent(nowMs: number): number {
    return this.#log.sentAfter(nowMs - MINUTE_MS);
  }

  /** Milliseconds until calls may start; 0 when they may, or when it is unknown. */
  waitMs(nowMs: number): number {
    if (this.#ownShare !== null) {
      const { permits, atMs } = this.permits(nowMs);
      return permits >= 1 ? 0 : atMs - nowMs;
    }
    return this.permits(nowMs).permits > 0 ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }

  permits(nowMs: number): Permits {
    if (this.#ownShare !== null) return this.#permitsAlone(this.#ownShare.permits(nowMs), nowMs);
    const permits = this.#leases.reduce((count, { untilMs }) => (untilMs > nowMs ? count + 1 : count), 0);
    return { permits, atMs: permits > 0 ? nowMs : Infinity, isKnown: true };
  }

  /** A call starts. Call it only when there is a permit. */
  sent(callNumber: number, nowMs: number): void {
    const number = this.#log.sent(nowMs, CALL_TTL_MS);
    for (const [old, { answeredMs }] of this.#recent) {
      if (answeredMs === null || answeredMs > nowMs - MINUTE_MS) break;
      this.#recent.delete(old);
    }
    this.#recent.set(callNumber, { sentMs: nowMs, answeredMs: null, apart: this.#ownShare !== null });
    if (this.#ownShare === null) {
      this.#dropExpired(nowMs);
      const [lease, ...rest] = this.#leases;
      this.#leases = rest;
      this.#sent.set(callNumber, { number, id: lease?.id ?? null });
      return;
    }
    this.#lastApartMs = nowMs;
    this.#sent.set(callNumber, { number, id: null });
    this.#ownCalls.set(callNumber, { share: this.#ownShare, callNumber: this.#ownShare.sent(nowMs) });
  }

  answered(call: EndedCall): void {
    const { callNumber, nowMs, plan, throttled, waitMs, failed } = call;
    const sent = this.#sent.get(callNumber);
    if (sent === undefined) return;
    this.#sent.delete(callNumber);
    const ownMs = nowMs - this.#log.answered(sent.number, nowMs);
    const recent = this.#recent.get(callNumber);
    if (recent !== undefined) this.#recent.set(callNumber, { ...recent, answeredMs: nowMs });
    const own = this.#ownCalls.get(callNumber);
    this.#ownCalls.delete(callNumber);
    // Another pod or client has used the permits that were left.
    if (throttled && this.#firstMinute !== null) this.#firstMinute = { ...this.#firstMinute, most: this.spent(nowMs) - 1 };
    own?.share.answered({ ...call, callNumber: own.callNumber });
    if (sent.id !== null) this.#enqueue({ kind: 'answer', id: sent.id, plan, throttled, waitMs, failed, ownMs });
  }

  /** A call was not sent after all: returns its permit. */
  withdrawn(callNumber: number, nowMs: number): void {
    const sent = this.#sent.get(callNumber);
    if (sent === undefined) return;
    this.#sent.delete(callNumber);
    this.#log.answered(sent.number, nowMs);
    this.#recent.delete(callNumber);
    const own = this.#ownCalls.get(callNumber);
    this.#ownCalls.delete(callNumber);
    own?.share.withdrawn(own.callNumber, nowMs);
    if (sent.id !== null) this.#unsent([sent.id]);
  }

  /** No more calls will be sent: returns the leased permits. */
  returnLeases(): void {
    this.#unsent(this.#leases.map(({ id }) => id));
    this.#leases = [];
  }

  /** The message of a turn. `applyReply` or `failed` must follow. @param waiting calls that would start now */
  turn(token: string, waiting: number, nowMs: number): PodTurn {
    this.#dropExpired(nowMs);
    this.#askedMs = nowMs;
    this.#sending = this.#outbox;
    this.#outbox = [];
    const events = this.#mustJoin ? [...this.#sending, this.#joining(nowMs)] : this.#sending;
    const ahead = waiting > 0 ? this.#log.sentAfter(nowMs - AHEAD_MS) : 0;
    const want = Math.max(0, Math.min(MAX_WANTED, waiting + ahead - this.#leases.length));
    return {
      pod: this.#options.pod,
      token,
      want,
      inFlight: this.#sent.size + this.#leases.length,
      spent: this.#log.unansweredAt(nowMs - MINUTE_MS),
      events,
    };
  }

  applyReply({ nowMs: storeMs, share, spent, freeAtMs, grants }: PodTurnReply, nowMs: number): void {
    this.#sending = [];
    this.#failingSinceMs = null;
    // Calls that the pod sent alone during the turn are not reported yet.
    this.#mustJoin = this.#lastApartMs >= this.#askedMs;
    this.#state = 'shared';
    this.#ownShare = null;
    this.#share = Math.min(share, 1 / this.#options.podsAtLeast);
    this.#allSpent = spent;
    this.#freeAtMs = freeAtMs === 0 ? 0 : this.#askedMs + freeAtMs - storeMs;
    // The store granted after it was asked, so a lease ends no later than this.
    this.#leases = [
      ...this.#leases,
      ...grants.map(({ id, atMs }) => ({ id, untilMs: this.#askedMs + PERMIT_LEASE_MS - Math.max(0, storeMs - atMs) })),
    ];
    this.#dropExpired(nowMs);
  }

  /** The store was not reached: the events are sent again. */
  failed(nowMs: number): void {
    this.#outbox = [...this.#sending, ...this.#outbox].slice(-MAX_EVENTS);
    this.#sending = [];
    // Since the failure was noticed: a pod that was paused during a turn hears of its failure before anything else.
    this.#failingSinceMs ??= nowMs;
    // It is unknown whether the turn was taken, and what it would have brought.
    this.#mustJoin = true;
    if (this.#ownShare !== null || nowMs - this.#failingSinceMs < ALONE_AFTER_MS) return;
    this.returnLeases();
    this.#firstMinute =
      this.#state === 'joining'
        ? null
        : {
            untilMs: nowMs + MINUTE_MS,
            most: Math.max(1, this.spent(nowMs) + Math.floor(Math.max(0, leastRpm(this.#options) - this.#allSpent) * this.#share)),
          };
    this.#state = 'alone';
    this.#ownShare = this.#openOwnShare(nowMs);
  }

  /**
   * Pods of a shared quota do not use equal parts of it. Until their calls expire, each goes on with its own use, plus its part of the
   * unused permits. A pod that took its whole share at once would exceed the quota beside one that had used more.
   */
  #permitsAlone({ permits, atMs }: Pick<Permits, 'permits' | 'atMs'>, nowMs: number): Permits {
    const { untilMs, most } = this.#firstMinute ?? { untilMs: -Infinity, most: 0 };
    const left = nowMs < untilMs ? most - this.spent(nowMs) : Infinity;
    const heldUntilMs = left >= 1 ? -Infinity : Math.min(untilMs, this.#log.firstSentAfter(nowMs - MINUTE_MS) + MINUTE_MS);
    if (permits < 1 || left < 1) return noPermits(Math.max(permits < 1 ? atMs : -Infinity, heldUntilMs), nowMs);
    return { permits: Math.min(permits, left), atMs: nowMs, isKnown: true };
  }

  /** The join event, behind the events that were pending before it. */
  #joining(nowMs: number): QuotaEvent {
    const has = [...this.#sent.values(), ...this.#leases].map(({ id }) => id).filter((id) => id !== null);
    return { kind: 'join', pod: this.#options.pod, apart: this.#sentApart(nowMs), has };
  }

  #sentApart(nowMs: number): SoloCall[] {
    const calls = [...this.#recent.values()].filter(({ apart, answeredMs }) => apart && (answeredMs ?? nowMs) > nowMs - MINUTE_MS);
    return calls.map(({ sentMs, answeredMs }) => [Math.ceil(nowMs - sentMs), Math.floor(nowMs - (answeredMs ?? nowMs))]);
  }

  /** Opens the pod's share of the plan, with its calls of the last minute. */
  #openOwnShare(nowMs: number): QuotaRules {
    const share = partOfPlan(this.#options, this.#share);
    share.restoreCalls(newestCalls(this.#restored, nowMs - MINUTE_MS, this.ownRpm), nowMs);
    for (const { sentMs } of this.#recent.values()) if (sentMs > nowMs - MINUTE_MS) share.restoreCalls([[sentMs, 1]], nowMs);
    return share;
  }

  #dropExpired(nowMs: number): void {
    const expired = this.#leases.filter(({ untilMs }) => untilMs <= nowMs);
    if (expired.length === 0) return;
    this.#leases = this.#leases.filter(({ untilMs }) => untilMs > nowMs);
    this.#unsent(expired.map(({ id }) => id));
  }

  #unsent(ids: readonly string[]): void {
    if (ids.length > 0) this.#enqueue({ kind: 'unsent', ids });
  }

  #enqueue(event: QuotaEvent): void {
    if (this.#outbox.length < MAX_EVENTS) this.#outbox.push(event);
  }
}
