/**
 * A pod's side of a shared quota: the permits that were leased to it, what it has to tell, and what it does by itself while the
 * store cannot be reached. Pure: time is passed in, and is the pod's own, monotonic.
 */
import { CallLog } from '../call-log.ts';
import { callsOfPart, PlanShare } from '../plan-share.ts';
import type { Spent } from '../quota-model.ts';
import type { Headers, RateReading } from '../rate-headers.ts';
import { MINUTE_MS } from '../told-answers.ts';
import { LEASE_MS, POD_LEASE_MS, QUOTA_HEADERS, type Apart, type QuotaEvent, type Turn, type TurnReply } from './messages.ts';

/**
 * How long the store may be away before a pod goes by its own share of the plan. Longer than a pod is not missed: whoever leads the
 * others, should it be this pod alone that is cut off, has left them their part of the plan and no more by then.
 */
export const ALONE_AFTER_MS = POD_LEASE_MS + 1_000;
/** So much is kept to be told; what comes to more was too long away to matter. */
const MOST_EVENTS = 20_000;
/** Permits are asked for in advance, as many as were used of late. */
const AHEAD_MS = 100;
const MOST_WANTED = 1_000;
/** A time to look again is never nearer than this: one that rounds to now would be looked at for ever. */
const SHORTEST_LOOK_MS = 0.25;
/** Calls are forgotten when they are so much older than a window. */
const KEPT_MS = 2 * MINUTE_MS;

export interface MemberOptions {
  readonly pod: string;
  /** Requests a minute of the plan. */
  readonly rpm: number;
  /** The least number of pods that share it, for a pod that was never told. */
  readonly podsAtLeast: number;
}

/** What came of one of this pod's own calls. `failed`: nothing. */
export interface OwnAnswer { readonly ticket: number; readonly headers: Headers; readonly throttled: boolean; readonly failed?: boolean }

interface OwnCall { readonly sentMs: number; readonly answeredMs: number | null; readonly apart: boolean }

export type Standing = 'joining' | 'shared' | 'alone';

export class Member {
  readonly #options: MemberOptions;
  readonly #log = new CallLog();
  #standing: Standing = 'joining';
  /** The part of the plan that was told to be this pod's own. */
  #share: number;
  /** What all pods had sent within a minute when that was heard last. */
  #allSpent = 0;
  #leases: readonly { readonly id: string; readonly untilMs: number }[] = [];
  /** By ticket: what was granted for it, or null for a call that the pod has sent by itself. */
  readonly #sent = new Map<number, string | null>();
  #mustJoin = true;
  #toTell: QuotaEvent[] = [];
  #telling: readonly QuotaEvent[] = [];
  #askedMs = 0;
  #failingSinceMs: number | null = null;
  /** Its own model while it is alone, whose tickets are behind these. */
  #alone: PlanShare | null = null;
  #heldUntilMs = -Infinity;
  #firstMinute: { readonly untilMs: number; readonly most: number } | null = null;
  readonly #aloneTickets = new Map<number, { readonly model: PlanShare; readonly ticket: number }>();
  #lastApartMs = -Infinity;
  /** Calls of the last minute by ticket, in the order of their sending. */
  readonly #recent = new Map<number, OwnCall>();
  #restored: { readonly calls: number; readonly atMs: number } | null = null;
  /** When the leader lets calls start again. */
  #freeAtMs = 0;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#share = 1 / options.podsAtLeast;
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** What this pod may use of the plan while it is alone, requests a minute. */
  get ownRpm(): number {
    return callsOfPart(this.#options.rpm, this.#share);
  }

  /** Whether something has to be told, or is under way. */
  get busy(): boolean {
    return this.#toTell.length > 0 || this.#sent.size > 0 || this.#leases.length > 0;
  }

  /** When `permits` should be asked again; Infinity: when something is told. */
  get nextAt(): number {
    return this.#alone === null ? Infinity : Math.max(this.#alone.nextAt, this.#heldUntilMs);
  }

  restore({ calls }: Pick<Spent, 'calls'>, agoMs: number, nowMs: number): void {
    this.#restored = { calls, atMs: nowMs - agoMs };
    this.#log.restore(calls, nowMs - agoMs);
  }

  spent(nowMs: number): number {
    return this.#log.sentAfter(nowMs - MINUTE_MS);
  }

  waitMs(nowMs: number): number {
    if (this.#alone !== null) return this.#alone.waitMs(nowMs);
    return this.#leases.length > 0 ? 0 : Math.max(0, this.#freeAtMs - nowMs);
  }

  /** How many calls may start now. */
  permits(nowMs: number): number {
    if (this.#alone !== null) return this.#aloneLeft(this.#alone.permits(nowMs), nowMs);
    this.#dropExpired(nowMs);
    return this.#leases.length;
  }

  /** A call starts; returns its ticket. Only when there is a permit. */
  sent(nowMs: number): number {
    const ticket = this.#log.sent(nowMs, nowMs - KEPT_MS);
    for (const [old, { answeredMs }] of this.#recent) {
      if (answeredMs === null || answeredMs > nowMs - MINUTE_MS) break;
      this.#recent.delete(old);
    }
    this.#recent.set(ticket, { sentMs: nowMs, answeredMs: null, apart: this.#alone !== null });
    if (this.#alone === null) {
      const [lease, ...rest] = this.#leases;
      this.#leases = rest;
      this.#sent.set(ticket, lease?.id ?? null);
      return ticket;
    }
    this.#lastApartMs = nowMs;
    this.#sent.set(ticket, null);
    this.#aloneTickets.set(ticket, { model: this.#alone, ticket: this.#alone.sent(nowMs) });
    return ticket;
  }

  /** @param waitMs what a throttled answer asks for */
  answered({ ticket, headers, throttled, failed = false }: OwnAnswer, nowMs: number, reading: RateReading | null, waitMs: number | null): void {
    const id = this.#sent.get(ticket);
    if (id === undefined) return;
    this.#sent.delete(ticket);
    const itselfMs = nowMs - this.#log.answered(ticket, nowMs);
    const call = this.#recent.get(ticket);
    if (call !== undefined) this.#recent.set(ticket, { ...call, answeredMs: nowMs });
    const own = this.#aloneTickets.get(ticket);
    this.#aloneTickets.delete(ticket);
    // What nobody had used, somebody has by now.
    if (throttled && this.#firstMinute !== null) this.#firstMinute = { ...this.#firstMinute, most: this.spent(nowMs) - 1 };
    own?.model.answered(own.ticket, nowMs, reading, throttled, waitMs, failed);
    if (id !== null) this.#tell({ kind: 'answer', id, headers: quotaHeaders(headers), throttled, waitMs, failed, itselfMs });
  }

  /** Nothing more will be sent. */
  giveBack(): void {
    this.#unsent(this.#leases.map(({ id }) => id));
    this.#leases = [];
  }

  /** What is told at a turn; `told` or `failed` must follow. @param waiting calls that would start now */
  turn(token: string, waiting: number, nowMs: number): Turn {
    this.#dropExpired(nowMs);
    this.#askedMs = nowMs;
    this.#telling = this.#toTell;
    this.#toTell = [];
    const events = this.#mustJoin ? [...this.#telling, this.#joining(nowMs)] : this.#telling;
    const ahead = waiting > 0 ? this.#log.sentAfter(nowMs - AHEAD_MS) : 0;
    const want = Math.max(0, Math.min(MOST_WANTED, waiting + ahead - this.#leases.length));
    return { pod: this.#options.pod, token, want, inFlight: this.#sent.size + this.#leases.length, spent: this.#log.unansweredAt(nowMs - MINUTE_MS), events };
  }

  told({ nowMs: storeMs, share, spent, freeAtMs, grants }: TurnReply, nowMs: number): void {
    this.#telling = [];
    this.#failingSinceMs = null;
    // What was sent alone since the turn was begun is not told yet.
    this.#mustJoin = this.#lastApartMs >= this.#askedMs;
    this.#standing = 'shared';
    this.#alone = null;
    this.#share = Math.min(share, 1 / this.#options.podsAtLeast);
    this.#allSpent = spent;
    this.#freeAtMs = freeAtMs === 0 ? 0 : this.#askedMs + freeAtMs - storeMs;
    // The store answered after it was asked, so a lease ends no later than this.
    this.#leases = [...this.#leases, ...grants.map(({ id, atMs }) => ({ id, untilMs: this.#askedMs + LEASE_MS - Math.max(0, storeMs - atMs) }))];
    this.#dropExpired(nowMs);
  }

  /** The store was not reached: what was to be told is told again. */
  failed(nowMs: number): void {
    this.#toTell = [...this.#telling, ...this.#toTell].slice(-MOST_EVENTS);
    this.#telling = [];
    // From when that was known: a pod that was paused in the middle of a turn hears of its failure before it hears anything else.
    this.#failingSinceMs ??= nowMs;
    // Whether the turn was taken is not known, nor what it would have brought.
    this.#mustJoin = true;
    if (this.#alone !== null || nowMs - this.#failingSinceMs < ALONE_AFTER_MS) return;
    this.giveBack();
    this.#firstMinute = this.#standing === 'joining' ? null : { untilMs: nowMs + MINUTE_MS, most: Math.max(1, this.spent(nowMs) + Math.floor(Math.max(0, this.#options.rpm - this.#allSpent) * this.#share)) };
    this.#standing = 'alone';
    this.#alone = this.#partOfPlan(nowMs);
  }

  /**
   * Pods that shared a quota have not used equal parts of it. Until what they have used is forgotten, each goes on with
   * what it had, and its part of what nobody had: one that took its whole share at once beside one that had more of it would send what is not there.
   */
  #aloneLeft(permits: number, nowMs: number): number {
    const { untilMs, most } = this.#firstMinute ?? { untilMs: -Infinity, most: 0 };
    const left = nowMs < untilMs ? most - this.spent(nowMs) : Infinity;
    this.#heldUntilMs = left >= 1 ? -Infinity : Math.max(nowMs + SHORTEST_LOOK_MS, Math.min(untilMs, this.#log.firstSentAfter(nowMs - MINUTE_MS) + MINUTE_MS));
    return Math.max(0, Math.min(permits, left));
  }

  /** Says who it is, and what it has; what was to be told before is told first. */
  #joining(nowMs: number): QuotaEvent {
    const has = [...this.#sent.values(), ...this.#leases.map(({ id }) => id)].filter((id) => id !== null);
    return { kind: 'join', pod: this.#options.pod, apart: this.#sentApart(nowMs), has };
  }

  #sentApart(nowMs: number): Apart[] {
    const calls = [...this.#recent.values()].filter(({ apart, answeredMs }) => apart && (answeredMs ?? nowMs) > nowMs - MINUTE_MS);
    return calls.map(({ sentMs, answeredMs }) => [Math.ceil(nowMs - sentMs), Math.floor(nowMs - (answeredMs ?? nowMs))]);
  }

  /** Its part of the plan, which knows what this pod has sent within the last minute. */
  #partOfPlan(nowMs: number): PlanShare {
    const part = new PlanShare({ rpm: this.#options.rpm, part: this.#share });
    if (this.#restored !== null && this.#restored.atMs > nowMs - MINUTE_MS) part.restore(Math.min(this.#restored.calls, part.rpm), nowMs - this.#restored.atMs, nowMs);
    for (const { sentMs } of this.#recent.values()) if (sentMs > nowMs - MINUTE_MS) part.restore(1, nowMs - sentMs, nowMs);
    return part;
  }

  #dropExpired(nowMs: number): void {
    const expired = this.#leases.filter(({ untilMs }) => untilMs <= nowMs);
    if (expired.length === 0) return;
    this.#leases = this.#leases.filter(({ untilMs }) => untilMs > nowMs);
    this.#unsent(expired.map(({ id }) => id));
  }

  #unsent(ids: readonly string[]): void {
    if (ids.length > 0) this.#tell({ kind: 'unsent', ids });
  }

  #tell(event: QuotaEvent): void {
    if (this.#toTell.length < MOST_EVENTS) this.#toTell.push(event);
  }
}

/** Those that the quota is read from, and no others. */
function quotaHeaders(headers: Headers): Headers {
  return Object.fromEntries(QUOTA_HEADERS.map((name) => [name, headers[name]]).filter(([, value]) => value !== undefined));
}
