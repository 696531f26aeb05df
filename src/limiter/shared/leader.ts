/**
 * The account of a quota that pods share: one model for all of them, kept by the pod that leads. To the model the pods are one
 * client. It takes the moment of a grant for that of the sending and the moment at which it hears of an answer for that of the
 * answer; between the two lies the service's decision, however long either took, and that is all that the model goes by.
 *
 * Everything that changes the account is an event in the store's history, so that the next leader goes on with the same account.
 * Pure: time is passed in, and is the store's.
 */
import { QuotaModel } from '../quota-model.ts';
import { readRateHeaders } from '../rate-headers.ts';
import { ResetUnit } from '../reset-unit.ts';
import type { Grant, PodState, QuotaEvent, Stamped } from './messages.ts';

/** Before a new account begins, all pods shall be there, and nothing that it does not know of under way. */
const SETTLE_MS = 500;
/** But a call that hangs is not waited for. */
const LONGEST_QUIET_MS = 5_000;
const MOST_AT_ONCE = 1_000;

interface Out { readonly ticket: number; readonly pod: string }

export class Leader {
  readonly #rpm: number;
  /** Part of the names of what is granted. */
  readonly #token: string;
  #granted = 0;
  #model: QuotaModel;
  #unit = new ResetUnit();
  #out = new Map<string, Out>();
  #pausedUntilMs = -Infinity;
  /** Since when nothing is granted, because a new account is about to begin; null: it has begun. */
  #quietSinceMs: number | null = null;
  #nowMs = -Infinity;
  /** Whose turn it is. */
  #next = 0;

  /** @param history of the account, up to now; empty: a new one begins */
  constructor(rpm: number, token: string, history: readonly Stamped[], nowMs: number) {
    this.#rpm = rpm;
    this.#token = token;
    this.#model = new QuotaModel({ rpm });
    if (history.length === 0) this.#quietSinceMs = nowMs;
    for (const { atMs, event } of history) this.apply(event, Math.min(atMs, nowMs));
  }

  /** When `decide` should be asked again; Infinity: when something was told. */
  get nextAt(): number {
    return this.#quietSinceMs === null ? Math.max(this.#model.nextAt, this.#pausedUntilMs) : this.#nowMs + SETTLE_MS / 4;
  }

  /** When calls may start again; 0: now, or when the next answer comes. */
  freeAtMs(nowMs: number): number {
    const waitMs = this.#quietSinceMs === null ? Math.max(this.#pausedUntilMs - nowMs, this.#model.waitMs(nowMs)) : 0;
    return waitMs > 0 ? nowMs + waitMs : 0;
  }

  apply(event: QuotaEvent, atMs: number): void {
    const now = (this.#nowMs = Math.max(this.#nowMs, atMs));
    switch (event.kind) {
      case 'join':
        this.#joins(event, now);
        return;
      case 'answer':
        this.#answered(event, now);
        return;
      case 'unsent':
        for (const id of event.ids) this.#takeBack(id, now);
        return;
      case 'grant':
        for (const id of event.ids) {
          // Asked as it was before the grant: it notes by which reasoning the call goes.
          this.#model.permits(now);
          this.#out.set(id, { ticket: this.#model.sent(now), pod: event.pod });
        }
        return;
      case 'fresh':
        this.#begin(event.spent, now);
        return;
      default:
        event satisfies never;
    }
  }

  /** What the leader does now; it is applied already, and to be told to the store. @param pods those that are there */
  decide(pods: readonly PodState[], nowMs: number): readonly QuotaEvent[] {
    const now = (this.#nowMs = Math.max(this.#nowMs, nowMs));
    this.#takeFromGone(new Set(pods.map(({ pod }) => pod)), now);
    if (this.#quietSinceMs !== null) {
      const quietMs = now - this.#quietSinceMs;
      const still = pods.every(({ inFlight }) => inFlight === 0);
      if (quietMs < SETTLE_MS || (!still && quietMs < LONGEST_QUIET_MS)) return [];
      const fresh = { kind: 'fresh', spent: pods.reduce((sum, { spent }) => sum + spent, 0) } as const;
      this.apply(fresh, now);
      return [fresh, ...this.#grant(pods, now)];
    }
    return this.#grant(pods, now);
  }

  /** For a test's message. */
  explain(nowMs: number): string {
    return `${this.#out.size} granted, ${this.#model.explain(nowMs)}`;
  }

  /** As many permits as there are and are wanted, dealt out to the pods in turn. */
  #grant(pods: readonly PodState[], now: number): Grant[] {
    if (now < this.#pausedUntilMs) return [];
    const wanting = pods.filter(({ want }) => want > 0).map(({ pod, want }) => ({ pod, want, count: 0 }));
    const most = Math.min(MOST_AT_ONCE, wanting.reduce((sum, { want }) => sum + want, 0));
    const tickets: number[] = [];
    while (tickets.length < most && this.#model.permits(now) >= 1) tickets.push(this.#model.sent(now));
    for (let left = tickets.length; left > 0; this.#next++) {
      const taker = wanting[this.#next % wanting.length] as (typeof wanting)[number];
      if (taker.count === taker.want) continue;
      taker.count++;
      left--;
    }
    // Each pod's in one piece, in the order of the tickets: so the history has them.
    return wanting.flatMap(({ pod, count }) => {
      const ids = tickets.splice(0, count).map((ticket) => {
        const id = `${this.#token}.${++this.#granted}`;
        this.#out.set(id, { ticket, pod });
        return id;
      });
      return ids.length === 0 ? [] : [{ kind: 'grant', pod, ids } as const];
    });
  }

  #joins({ pod, apart, has }: QuotaEvent & { kind: 'join' }, now: number): void {
    const kept = new Set(has);
    for (const [id, out] of this.#out) if (out.pod === pod && !kept.has(id)) this.#lose(id, now);
    // What it has sent by itself would be taken for somebody else's for long.
    if (apart) this.#quietSinceMs = now;
  }

  #answered({ id, headers, throttled, waitMs, failed, itselfMs }: QuotaEvent & { kind: 'answer' }, now: number): void {
    const out = this.#out.get(id);
    if (throttled) this.#pausedUntilMs = Math.max(this.#pausedUntilMs, now + (waitMs ?? 0));
    if (out === undefined) return;
    this.#out.delete(id);
    const says = headers['x-ratelimit-remaining'] !== undefined || headers['x-ratelimit-reset'] !== undefined;
    const reading = says ? readRateHeaders(headers, now, this.#unit.read(headers, now)) : null;
    this.#model.answered(out.ticket, now, reading, throttled, waitMs, failed, itselfMs);
  }

  /** A permit that was surely not used. */
  #takeBack(id: string, now: number): void {
    const out = this.#out.get(id);
    if (out === undefined) return;
    this.#out.delete(id);
    this.#model.withdrawn(out.ticket, now);
  }

  /** Nobody knows whether the call was sent: it counts as spent until a later one is answered. */
  #lose(id: string, now: number): void {
    const out = this.#out.get(id);
    if (out === undefined) return;
    this.#out.delete(id);
    this.#model.answered(out.ticket, now, null, false, null, true);
  }

  #takeFromGone(there: ReadonlySet<string>, now: number): void {
    for (const [id, { pod }] of this.#out) if (!there.has(pod)) this.#lose(id, now);
  }

  #begin(spent: number, now: number): void {
    this.#model = new QuotaModel({ rpm: this.#rpm });
    this.#unit = new ResetUnit();
    this.#out = new Map();
    this.#quietSinceMs = null;
    this.#model.restore(Math.min(spent, this.#rpm), 0, now);
  }
}
