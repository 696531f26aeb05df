/**
 * The account of a quota that pods share: one quota model for all, kept by the pod that coordinates. The model sees the pods as one client.
 * It takes the grant as the moment of sending, and the coordinator's receipt of an answer as the moment of the answer. The service decides
 * between the two, however long either takes, and the model needs no more.
 *
 * Everything that changes the account is an event in the store's history, so that the next coordinator continues it.
 * Pure: time is passed in, and is the store's.
 */
import type { QuotaRules } from '../../quota-rules.ts';
import { toRateReading } from '../../inference/rate-reading.ts';
import { ResetUnit } from '../../inference/reset-unit.ts';
import { MINUTE_MS } from '../../inference/quota-observations.ts';
import { partLeftBy, type Grant, type MissingPod, type PodDemand, type QuotaEvent, type StampedEvent } from './messages.ts';
import { MissingPods } from './missing-pods.ts';
import { leastRpm, partOfPlan, wholePlan, type SharedPlan } from './shared-plan.ts';

/** The time before a new account begins, so that all pods join and no unknown call is in flight. */
const SETTLE_MS = 500;
/** The same after pods went on alone: they return one after the other. */
const REJOIN_SETTLE_MS = 1_500;
/** A call that hangs does not delay the account longer than this. */
const MAX_SETTLE_MS = 5_000;
/** Parts that differ by less are equal. */
const PART_EPSILON = 1e-6;
/** Old calls are dropped when there are this many times the calls of a minute. */
const CALLS_KEPT_FACTOR = 3;
const MAX_GRANTS = 1_000;
/** A call whose answer nobody will see. */
const NO_ANSWER = { plan: null, reading: null, windows: [], throttled: false, waitMs: null, failed: true } as const;

interface GrantedPermit {
  readonly callNumber: number;
  readonly pod: string;
  readonly model: QuotaRules;
  readonly call: Call;
}
/** A call that a window may hold. `answeredMs`: null while in flight. `counted`: the service has counted it for certain. */
interface Call {
  readonly pod: string;
  readonly sentMs: number;
  answeredMs: number | null;
  counted: boolean;
}
interface Settling {
  readonly sinceMs: number;
  readonly settleMs: number;
  readonly mustFit: boolean;
}

export class QuotaCoordinator {
  readonly #plan: SharedPlan;
  /** Requests a minute of the whole plan. */
  readonly #rpm: number;
  /** Prefix of the ids of granted permits. */
  readonly #token: string;
  #grantCount = 0;
  #model: QuotaRules;
  readonly #missing: MissingPods;
  #calls: Call[] = [];
  #unit: ResetUnit;
  #granted = new Map<string, GrantedPermit>();
  #pausedUntilMs = -Infinity;
  /** Set before a new account begins: nothing is granted meanwhile. */
  #settling: Settling | null = null;
  #nowMs = -Infinity;
  /** Round robin over the pods. */
  #nextPod = 0;

  /** @param history the account's events so far; empty for a new account */
  constructor(plan: SharedPlan, token: string, history: readonly StampedEvent[], nowMs: number) {
    const rpm = leastRpm(plan);
    this.#plan = plan;
    this.#rpm = rpm;
    this.#token = token;
    this.#missing = new MissingPods(rpm);
    this.#model = wholePlan(plan);
    this.#unit = new ResetUnit(rpm);
    if (history.length === 0) this.#settling = { sinceMs: nowMs, settleMs: SETTLE_MS, mustFit: false };
    for (const { atMs, event } of history) this.apply(event, Math.min(atMs, nowMs));
  }

  /** When `decide` should be called again; Infinity: after the next event. */
  get nextAt(): number {
    if (this.#settling !== null) return this.#nowMs + SETTLE_MS / 4;
    const { permits, atMs } = this.#model.permits(this.#nowMs);
    return permits >= 1 ? Infinity : Math.max(atMs, this.#pausedUntilMs);
  }

  /** When calls may start again; 0 for now, or for the next answer. */
  freeAtMs(nowMs: number): number {
    const untilMs = this.#settling === null ? Math.max(this.#pausedUntilMs, this.#model.usedUp(nowMs)?.untilMs ?? 0) : 0;
    return untilMs > nowMs ? untilMs : 0;
  }

  apply(event: QuotaEvent, atMs: number): void {
    const now = (this.#nowMs = Math.max(this.#nowMs, atMs));
    switch (event.kind) {
      case 'join':
        this.#applyJoin(event, now);
        return;
      case 'answer':
        this.#applyAnswer(event, now);
        return;
      case 'unsent':
        for (const id of event.ids) this.#withdraw(id, now);
        return;
      case 'grant':
        for (const id of event.ids) this.#recordGrant(id, event.pod, this.#model.sent(now), now);
        return;
      case 'fresh':
        this.#startAccount(event.spent, now);
        return;
      case 'part':
        this.#applyPart(event.of, new Set(event.without), now);
        return;
      default:
        event satisfies never;
    }
  }

  /**
   * The events that the coordinator decides on now. They are applied here, and the caller writes them to the store. @param pods the present
   * pods
   */
  decide(pods: readonly PodDemand[], missing: readonly MissingPod[], nowMs: number): readonly QuotaEvent[] {
    const now = (this.#nowMs = Math.max(this.#nowMs, nowMs));
    this.#loseCallsOfMissing(new Set(pods.map(({ pod }) => pod)), now);
    const begins = this.#accountChanges(pods, missing, now);
    for (const event of begins) this.apply(event, now);
    return this.#settling === null ? [...begins, ...this.#grant(pods, now)] : begins;
  }

  /** Missing pods that have ended: nobody uses their part of the plan, although all else is used. */
  endedPods(nowMs: number): readonly string[] {
    return this.#missing.ended(nowMs);
  }

  /**
   * Begins a new account where one is due. While pods are missing, it has a part of the plan and begins at once, because the missing pods
   * may go on alone at any moment. When they are back, it has the whole plan.
   */
  #accountChanges(pods: readonly PodDemand[], missing: readonly MissingPod[], now: number): readonly QuotaEvent[] {
    const part = partLeftBy(missing);
    if (part < 1)
      return this.#settling === null && Math.abs(part - this.#missing.part) < PART_EPSILON
        ? []
        : [{ kind: 'part', of: part, without: missing.map(({ pod }) => pod) }];
    if (this.#missing.part < 1) this.#settling ??= { sinceMs: now, settleMs: SETTLE_MS, mustFit: true };
    if (this.#settling === null) return [];
    const { sinceMs, settleMs, mustFit } = this.#settling;
    const quietMs = now - sinceMs;
    const isQuiet = pods.every(({ inFlight }) => inFlight === 0);
    if (quietMs < settleMs || (!isQuiet && quietMs < MAX_SETTLE_MS)) return [];
    // A continued account knows its calls, and returning pods have reported theirs. The numbers of new pods may be a guess: after a kill, a
    // run reports the whole plan.
    const spent = mustFit ? this.#recentCalls(now).length : pods.reduce((sum, pod) => sum + pod.spent, 0);
    // A window would have no permit left for the first call.
    if (mustFit && spent >= this.#rpm) return [];
    return [{ kind: 'fresh', spent }];
  }

  /** Grants as many permits as exist and are wanted, round robin over the pods. */
  #grant(pods: readonly PodDemand[], now: number): Grant[] {
    if (now < this.#pausedUntilMs) return [];
    const wanting = pods.filter(({ want }) => want > 0).map(({ pod, want }) => ({ pod, want, count: 0 }));
    const most = Math.min(
      MAX_GRANTS,
      wanting.reduce((sum, { want }) => sum + want, 0),
    );
    const callNumbers: number[] = [];
    while (callNumbers.length < most && this.#model.permits(now).permits >= 1) callNumbers.push(this.#model.sent(now));
    for (let left = callNumbers.length; left > 0; this.#nextPod++) {
      const taker = wanting[this.#nextPod % wanting.length] as (typeof wanting)[number];
      if (taker.count === taker.want) continue;
      taker.count++;
      left--;
    }
    // The permits of a pod in one event, in the order of the numbers, as the history has them.
    return wanting.flatMap(({ pod, count }) => {
      const ids = callNumbers.splice(0, count).map((callNumber) => {
        const id = `${this.#token}.${++this.#grantCount}`;
        this.#recordGrant(id, pod, callNumber, now);
        return id;
      });
      return ids.length === 0 ? [] : [{ kind: 'grant', pod, ids } as const];
    });
  }

  #applyJoin({ pod, apart, has }: QuotaEvent & { kind: 'join' }, now: number): void {
    const kept = new Set(has);
    for (const [id, permit] of this.#granted) if (permit.pod === pod && !kept.has(id)) this.#lose(id, now);
    for (const [sentAgoMs, answeredAgoMs] of apart)
      this.#calls.push({ pod, sentMs: now - sentAgoMs, answeredMs: now - answeredAgoMs, counted: false });
    // Its own calls would otherwise look like another client's.
    if (apart.length > 0) this.#settling = { sinceMs: now, settleMs: REJOIN_SETTLE_MS, mustFit: true };
  }

  #applyAnswer({ id, plan, throttled, waitMs, failed, ownMs }: QuotaEvent & { kind: 'answer' }, now: number): void {
    const permit = this.#granted.get(id);
    if (throttled) this.#pausedUntilMs = Math.max(this.#pausedUntilMs, now + (waitMs ?? 0));
    if (permit === undefined) return;
    this.#granted.delete(id);
    permit.call.answeredMs = now;
    const reading =
      plan === null ? null : toRateReading(plan, this.#unit.read(plan, now, { retryAfterMs: throttled ? waitMs : null, throttled }));
    permit.call.counted = reading !== null && !throttled;
    permit.model.answered({ callNumber: permit.callNumber, nowMs: now, plan, reading, windows: [], throttled, waitMs, failed, ownMs });
    if (reading !== null) this.#observeMissing(throttled ? 0 : reading.remaining, now);
  }

  /** A permit was not used. */
  #withdraw(id: string, now: number): void {
    const permit = this.#granted.get(id);
    if (permit === undefined) return;
    this.#granted.delete(id);
    permit.call.answeredMs = -Infinity;
    permit.model.withdrawn(permit.callNumber, now);
  }

  /** It is unknown whether the call was sent. It counts as spent until a later call is answered. */
  #lose(id: string, now: number): void {
    const permit = this.#granted.get(id);
    if (permit === undefined) return;
    this.#granted.delete(id);
    permit.call.answeredMs = now;
    permit.model.answered({ ...NO_ANSWER, callNumber: permit.callNumber, nowMs: now });
  }

  #loseCallsOfMissing(present: ReadonlySet<string>, now: number): void {
    for (const [id, { pod }] of this.#granted) if (!present.has(pod)) this.#lose(id, now);
  }

  #startAccount(spent: number, now: number): void {
    const model = wholePlan(this.#plan);
    const recent = this.#recentCalls(now);
    model.resume(recent.map((call) => ({ ...call, answeredMs: call.answeredMs ?? now })));
    model.restoreCalls([[now, Math.max(0, Math.min(spent, this.#rpm) - recent.length)]], now);
    this.#model = model;
    this.#unit = new ResetUnit(this.#rpm);
    this.#granted = new Map();
    this.#settling = null;
    this.#missing.clear();
  }

  /**
   * From now on the account has a part of the plan. Recent calls of the missing pods are charged to their part, as far as it reaches; the
   * rest is charged to the others until it expires.
   */
  #applyPart(of: number, without: ReadonlySet<string>, now: number): void {
    const part = partOfPlan(this.#plan, of);
    let callsOfMissing = Math.floor(this.#rpm * (1 - of));
    for (const { pod, answeredMs } of this.#recentCalls(now)) {
      if (without.has(pod) && callsOfMissing-- > 0) continue;
      part.restoreCalls([[answeredMs ?? now, 1]], now);
    }
    this.#model = part;
    this.#missing.divide(of, without, now);
    this.#settling = null;
  }

  #observeMissing(remaining: number | null, now: number): void {
    let recent: readonly Call[] | null = null;
    const callsOf = (pods: ReadonlySet<string>): number => (recent ??= this.#recentCalls(now)).filter(({ pod }) => pods.has(pod)).length;
    this.#missing.observe(remaining, this.#model.spent(now), now, callsOf);
  }

  #recordGrant(id: string, pod: string, callNumber: number, now: number): void {
    const call: Call = { pod, sentMs: now, answeredMs: null, counted: false };
    if (this.#calls.length > CALLS_KEPT_FACTOR * this.#rpm) this.#calls = this.#recentCalls(now);
    this.#calls.push(call);
    this.#granted.set(id, { callNumber, pod, model: this.#model, call });
  }

  /** Calls that a window of a minute may hold, in the order of their answers. */
  #recentCalls(now: number): Call[] {
    const of = ({ answeredMs }: Call): number => answeredMs ?? Infinity;
    return this.#calls.filter((call) => of(call) > now - MINUTE_MS).sort((one, other) => (of(one) === of(other) ? 0 : of(one) - of(other)));
  }
}
