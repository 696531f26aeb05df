/**
 * The account of a quota that pods share: one model for all of them, kept by the pod that leads. To the model the pods are one
 * client. It takes the moment of a grant for that of the sending and the moment at which it hears of an answer for that of the
 * answer; between the two lies the service's decision, however long either took, and that is all that the model goes by.
 *
 * Everything that changes the account is an event in the store's history, so that the next leader goes on with the same account.
 * Pure: time is passed in, and is the store's.
 */
import { PlanShare } from '../plan-share.ts';
import { QuotaModel } from '../quota-model.ts';
import { readRateHeaders } from '../rate-headers.ts';
import { ResetUnit } from '../reset-unit.ts';
import { MINUTE_MS } from '../told-answers.ts';
import { partOfThose, type Grant, type MissingPod, type PodState, type QuotaEvent, type Stamped } from './messages.ts';
import { Unused } from './unused.ts';

/** Before a new account begins, all pods shall be there, and nothing that it does not know of under way. */
const SETTLE_MS = 500;
/** Pods that went by themselves find back one after the other. */
const SETTLE_APART_MS = 1_500;
/** But a call that hangs is not waited for. */
const LONGEST_QUIET_MS = 5_000;
/** Parts that differ by less are the same. */
const SAME_PART = 1e-6;
/** Calls are forgotten when there are so many times as many as a minute permits. */
const FULL_ROUNDS = 3;
const MOST_AT_ONCE = 1_000;

type Model = QuotaModel | PlanShare;
interface Out { readonly ticket: number; readonly pod: string; readonly model: Model; readonly call: Call }
/** A call that a window may hold. `answeredMs` null: it is not answered yet. `counted`: the service has surely counted it. */
interface Call { readonly pod: string; readonly sentMs: number; answeredMs: number | null; counted: boolean }
/** Pods that went missing together, and whether anybody is seen to use what is left to them. */
interface Watch { readonly pods: ReadonlySet<string>; readonly share: number; readonly unused: Unused }
interface Quiet { readonly sinceMs: number; readonly settleMs: number; readonly mustFit: boolean }

export class Leader {
  readonly #rpm: number;
  /** Part of the names of what is granted. */
  readonly #token: string;
  #granted = 0;
  #model: Model;
  /** The part of the plan that is not left to missing pods. */
  #part = 1;
  /** In the order in which the pods went missing. */
  #watches: readonly Watch[] = [];
  /** Missing pods that were seen to be gone. */
  #gone = new Set<string>();
  /** The part before the one of now, and when that began: who has more by now needs a minute to use it. */
  #partBefore = 1;
  #dividedMs = -Infinity;
  #recent: Call[] = [];
  #unit: ResetUnit;
  #out = new Map<string, Out>();
  #pausedUntilMs = -Infinity;
  /** Nothing is granted, because a new account is about to begin; null: it has begun. */
  #quiet: Quiet | null = null;
  #nowMs = -Infinity;
  /** Whose turn it is. */
  #next = 0;

  /** @param history of the account, up to now; empty: a new one begins */
  constructor(rpm: number, token: string, history: readonly Stamped[], nowMs: number) {
    this.#rpm = rpm;
    this.#token = token;
    this.#model = new QuotaModel({ rpm });
    this.#unit = new ResetUnit(rpm);
    if (history.length === 0) this.#quiet = { sinceMs: nowMs, settleMs: SETTLE_MS, mustFit: false };
    for (const { atMs, event } of history) this.apply(event, Math.min(atMs, nowMs));
  }

  /** When `decide` should be asked again; Infinity: when something was told. */
  get nextAt(): number {
    return this.#quiet === null ? Math.max(this.#model.nextAt, this.#pausedUntilMs) : this.#nowMs + SETTLE_MS / 4;
  }

  /** When calls may start again; 0: now, or when the next answer comes. */
  freeAtMs(nowMs: number): number {
    const waitMs = this.#quiet === null ? Math.max(this.#pausedUntilMs - nowMs, this.#model.waitMs(nowMs)) : 0;
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
          this.#goesOut(id, event.pod, this.#model.sent(now), now);
        }
        return;
      case 'fresh':
        this.#begin(event.spent, now);
        return;
      case 'part':
        this.#divide(event.of, new Set(event.without), now);
        return;
      default:
        event satisfies never;
    }
  }

  /** What the leader does now; it is applied already, and to be told to the store. @param pods those that are there */
  decide(pods: readonly PodState[], missing: readonly MissingPod[], nowMs: number): readonly QuotaEvent[] {
    const now = (this.#nowMs = Math.max(this.#nowMs, nowMs));
    this.#takeFromGone(new Set(pods.map(({ pod }) => pod)), now);
    const begins = this.#changes(pods, missing, now);
    for (const event of begins) this.apply(event, now);
    return this.#quiet === null ? [...begins, ...this.#grant(pods, now)] : begins;
  }

  /** Missing pods of whose part nobody is seen to use anything, though all else is used: they are gone. */
  unused(nowMs: number): readonly string[] {
    const gone = this.#watches.filter(({ unused }) => unused.isCertain(nowMs)).flatMap(({ pods }) => [...pods]);
    for (const pod of gone) this.#gone.add(pod);
    return gone;
  }

  /** A new account where one is due: by a part of the plan while pods are missing, at once, because they may begin any moment; and of all of it when they are back. */
  #changes(pods: readonly PodState[], missing: readonly MissingPod[], now: number): readonly QuotaEvent[] {
    const part = partOfThose(missing);
    if (part < 1) return this.#quiet === null && Math.abs(part - this.#part) < SAME_PART ? [] : [{ kind: 'part', of: part, without: missing.map(({ pod }) => pod) }];
    if (this.#part < 1) this.#quiet ??= { sinceMs: now, settleMs: SETTLE_MS, mustFit: true };
    if (this.#quiet === null) return [];
    const { sinceMs, settleMs, mustFit } = this.#quiet;
    const quietMs = now - sinceMs;
    const still = pods.every(({ inFlight }) => inFlight === 0);
    if (quietMs < settleMs || (!still && quietMs < LONGEST_QUIET_MS)) return [];
    // An account that goes on knows its calls, and who is back has told its own. What pods say besides may be a guess: of a run after one that was killed, all of the plan.
    const spent = mustFit ? this.#lately(now).length : pods.reduce((sum, told) => sum + told.spent, 0);
    // Windows have nothing left for the call that asks how things stand, so far as is known.
    if (mustFit && spent >= this.#rpm) return [];
    return [{ kind: 'fresh', spent }];
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
        this.#goesOut(id, pod, ticket, now);
        return id;
      });
      return ids.length === 0 ? [] : [{ kind: 'grant', pod, ids } as const];
    });
  }

  #joins({ pod, apart, has }: QuotaEvent & { kind: 'join' }, now: number): void {
    const kept = new Set(has);
    for (const [id, out] of this.#out) if (out.pod === pod && !kept.has(id)) this.#lose(id, now);
    for (const [sentAgoMs, answeredAgoMs] of apart) this.#recent.push({ pod, sentMs: now - sentAgoMs, answeredMs: now - answeredAgoMs, counted: false });
    // What it has sent by itself would be taken for somebody else's for long.
    if (apart.length > 0) this.#quiet = { sinceMs: now, settleMs: SETTLE_APART_MS, mustFit: true };
  }

  #answered({ id, headers, throttled, waitMs, failed, itselfMs }: QuotaEvent & { kind: 'answer' }, now: number): void {
    const out = this.#out.get(id);
    if (throttled) this.#pausedUntilMs = Math.max(this.#pausedUntilMs, now + (waitMs ?? 0));
    if (out === undefined) return;
    this.#out.delete(id);
    out.call.answeredMs = now;
    const says = headers['x-ratelimit-remaining'] !== undefined || headers['x-ratelimit-reset'] !== undefined;
    const reading = says ? readRateHeaders(headers, now, this.#unit.read(headers, now, { retryAfterMs: throttled ? waitMs : null, throttled })) : null;
    out.call.counted = reading !== null && !throttled;
    out.model.answered(out.ticket, now, reading, throttled, waitMs, failed, itselfMs);
    if (reading !== null) this.#watch(throttled ? 0 : reading.remaining, now);
  }

  /** A permit that was surely not used. */
  #takeBack(id: string, now: number): void {
    const out = this.#out.get(id);
    if (out === undefined) return;
    this.#out.delete(id);
    out.call.answeredMs = -Infinity;
    out.model.withdrawn(out.ticket, now);
  }

  /** Nobody knows whether the call was sent: it counts as spent until a later one is answered. */
  #lose(id: string, now: number): void {
    const out = this.#out.get(id);
    if (out === undefined) return;
    this.#out.delete(id);
    out.call.answeredMs = now;
    out.model.answered(out.ticket, now, null, false, null, true);
  }

  #takeFromGone(there: ReadonlySet<string>, now: number): void {
    for (const [id, { pod }] of this.#out) if (!there.has(pod)) this.#lose(id, now);
  }

  #begin(spent: number, now: number): void {
    const model = new QuotaModel({ rpm: this.#rpm });
    const recent = this.#lately(now);
    model.resume(recent.map((call) => ({ ...call, answeredMs: call.answeredMs ?? now })));
    model.restore(Math.max(0, Math.min(spent, this.#rpm) - recent.length), 0, now);
    this.#model = model;
    this.#unit = new ResetUnit(this.#rpm);
    this.#out = new Map();
    this.#quiet = null;
    this.#part = 1;
    this.#watches = [];
    this.#gone.clear();
  }

  #watch(remaining: number | null, now: number): void {
    if (this.#watches.length === 0) return;
    const part = now - this.#dividedMs < 2 * MINUTE_MS ? Math.min(this.#part, this.#partBefore) : this.#part;
    for (const [i, { unused }] of this.#watches.entries()) unused.told(remaining, this.#model.spent(now), now, part, this.#leftBy(this.#watches.slice(i + 1), now));
  }

  /** Permits that pods leave over, which had a share of the plan each and have sent some of it within the last minute. */
  #leftBy(watches: readonly Watch[], now: number): number {
    if (watches.length === 0) return 0;
    const lately = this.#lately(now);
    return watches.reduce((left, { pods, share }) => left + Math.max(0, share * this.#rpm - lately.filter(({ pod }) => pods.has(pod)).length), 0);
  }

  /**
   * From now on a part of the plan. What the missing pods have spent lately is of theirs, as far as that reaches; what is more
   * takes from the others until it is forgotten.
   */
  #divide(of: number, without: ReadonlySet<string>, now: number): void {
    const part = new PlanShare({ rpm: this.#rpm, part: of });
    let theirs = Math.floor(this.#rpm * (1 - of));
    for (const { pod, answeredMs } of this.#lately(now)) {
      if (without.has(pod) && theirs-- > 0) continue;
      part.restore(1, now - (answeredMs ?? now), now);
    }
    this.#model = part;
    this.#watchFor(of, without, now);
    this.#partBefore = this.#part;
    this.#dividedMs = now;
    this.#part = of;
    this.#quiet = null;
  }

  /** What is known of pods that are still missing stays known, unless one of them came back: then all begins anew. */
  #watchFor(of: number, without: ReadonlySet<string>, now: number): void {
    const before = this.#watches.filter(({ pods }) => ![...pods].every((pod) => this.#gone.has(pod)));
    const isBack = before.some(({ pods }) => [...pods].some((pod) => !without.has(pod)));
    const watched = isBack ? [] : before;
    const fresh = new Set([...without].filter((pod) => !watched.some(({ pods }) => pods.has(pod))));
    const share = 1 - of - watched.reduce((sum, watch) => sum + watch.share, 0);
    this.#watches = fresh.size === 0 ? watched : [...watched, { pods: fresh, share, unused: new Unused(this.#rpm, of, now, share) }];
  }

  #goesOut(id: string, pod: string, ticket: number, now: number): void {
    const call: Call = { pod, sentMs: now, answeredMs: null, counted: false };
    if (this.#recent.length > FULL_ROUNDS * this.#rpm) this.#recent = this.#lately(now);
    this.#recent.push(call);
    this.#out.set(id, { ticket, pod, model: this.#model, call });
  }

  /** Calls that a window of a minute may hold, in the order of their answers. */
  #lately(now: number): Call[] {
    const of = ({ answeredMs }: Call): number => answeredMs ?? Infinity;
    return this.#recent.filter((call) => of(call) > now - MINUTE_MS).sort((one, other) => (of(one) === of(other) ? 0 : of(one) - of(other)));
  }
}
