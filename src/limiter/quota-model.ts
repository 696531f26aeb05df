/**
 * How many calls may start now, by what the service's answers say of the quota. Pure and deterministic: time is passed in.
 *
 * What is known (`told-answers`): an answer carries how many permits were left when the service decided, `Remaining`.
 * Of those, all that was sent since may be gone, and all that was in flight then and is not answered yet. What is left
 * after that may be sent at once, whatever limiter the service has.
 *
 * When nothing is left, the quota comes back by rules that the service does not tell: at once when a fixed window ends,
 * call by call in a sliding one, evenly in a token bucket. The model does not guess which: it counts on what all those
 * have given back (`comeback`) that nothing has refuted (`evidence`). Once the stated reset is over, one call asks how
 * things stand.
 */
import { CallLog } from './call-log.ts';
import { awaited, awaitedUntil, comeback, type Seen } from './comeback.ts';
import { Evidence } from './evidence.ts';
import { Latencies } from './latencies.ts';
import { Looks } from './looks.ts';
import { PlanPace } from './plan-pace.ts';
import type { KeptWindow } from './quota-windows.ts';
import type { RateReading } from './rate-headers.ts';
import { SmallBucket } from './small-bucket.ts';
import { MINUTE_MS, ToldAnswers, type Told } from './told-answers.ts';
import type { Wait } from '../waits.ts';

/** What the last window has spent: kept in the checkpoint. */
export interface Spent {
  readonly calls: number;
  /** Wall clock, milliseconds, when that was asked: the last of them was sent then or before. */
  readonly lastAtMs: number;
  /** The service said "later", and has not answered anything else since. Left out: it has. */
  readonly later?: Later;
  /** Calls of the whole job by then, in the count of the checkpoint's `callsAtMost`. Left out: this is no checkpoint's. */
  readonly sent?: number;
  /** Windows other than the minute's, and what is left of each. */
  readonly windows?: readonly KeptWindow[];
}

/** A wait that the service asked for, milliseconds. */
export interface Later {
  /** Wall clock. */
  readonly untilMs: number;
  readonly forMs: number;
}

/** Calls are forgotten when they are so much older than a window. */
const LONGEST_LAG_MS = 30_000;
/** So many answers in a row without quota headers: they have stopped coming. */
const SILENT_ANSWERS = 3;
/** A time to look again is never nearer than this: one that rounds to now would be looked at for ever. */
const SHORTEST_LOOK_MS = 0.25;
/** No limiter lets through more within a minute: a full bucket and its refill, or two windows at their edge. Headers that say more are not to be believed. */
const MOST_MINUTES = 2;
/** A pause is lengthened by up to so many intervals between two calls, for a neighbour that keeps time with us. */
const OFF_BEAT_INTERVALS = 2;
const MOST_OFF_BEAT_MS = 1_000;
const GOLDEN_RATIO = 0.618_033_988_749_895;

export class QuotaModel {
  readonly #rpm: number | null;
  readonly #seen: Seen;
  readonly #looks: Looks;
  readonly #pace: PlanPace | null;
  #answers = 0;
  #silent = 0;
  #refusals = 0;
  #nextAt = 0;
  /** The first answer that stated the quota. */
  #firstTold: Told | null = null;
  /** When the calls of an earlier run were sent at the latest. */
  #restoredMs = -Infinity;
  /** Whether the calls that `permits` allowed last were known to have a permit, or are reckoned to. */
  #byKnowledge = true;
  /** Calls in flight that are only reckoned to have a permit. */
  readonly #reckoned = new Set<number>();

  /** @param options.rpm requests a minute of the plan; null: unlimited */
  constructor(options: { readonly rpm: number | null }) {
    this.#rpm = options.rpm;
    const log = new CallLog();
    const latencies = new Latencies();
    const evidence = new Evidence(options.rpm, log, latencies);
    this.#seen = { log, latencies, evidence, told: new ToldAnswers(log, latencies), small: new SmallBucket(evidence, latencies) };
    this.#looks = new Looks(this.#seen);
    this.#pace = options.rpm === null ? null : new PlanPace(options.rpm, log, latencies);
  }

  /** When `permits` should be asked again, as it found out last; Infinity: when the next answer comes. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Whether headers have asked for pacing, so that an unlimited plan needs a gate after all. */
  get limited(): boolean {
    return this.#seen.told.latest !== undefined;
  }

  /** How long nothing may start by what the headers say; 0 while an answer that may change that is under way. */
  waitMs(nowMs: number): number {
    if (!this.limited || awaited(this.#seen, nowMs) > 0 || this.permits(nowMs) >= 1) return 0;
    return Math.max(0, this.#nextAt - nowMs);
  }

  /** What calls wait for, by the headers or by the plan alone; null: one may start, or an answer that may change it is under way. */
  waiting(nowMs: number): Wait | null {
    if (awaited(this.#seen, nowMs) > 0 || this.permits(nowMs) >= 1) return null;
    const untilMs = this.#nextAt === Infinity ? null : this.#nextAt;
    if (this.limited && this.#silent < SILENT_ANSWERS) return { reason: 'quota', what: "the quota, which is used up by the service's own headers", untilMs };
    if (nowMs - this.#restoredMs < MINUTE_MS + LONGEST_LAG_MS) return { reason: 'resume', what: 'the end of the minute of which the run before may have spent all', untilMs };
    return { reason: 'quota', what: `the next of ${this.#rpm ?? 0} requests a minute`, untilMs };
  }

  /**
   * Requests that the service offered so far beyond the plan's rate, because its quota was whole at the start: of a bucket what stood in it,
   * of a window what its first one had. 0: it offered none, or nobody knows.
   */
  beyondPlan(nowMs: number): number {
    const first = this.#firstTold;
    const { evidence } = this.#seen;
    if (first === null || this.#rpm === null || evidence.otherWindow || this.#restoredMs > -Infinity) return 0;
    const atPlanRate = (this.#rpm * Math.max(0, nowMs - first.answeredMs)) / MINUTE_MS;
    const standing = first.remaining + 1;
    if (evidence.bucket) return standing;
    const sinceResetMs = nowMs - first.untilMs;
    const windows = sinceResetMs < 0 ? 0 : 1 + Math.floor(sinceResetMs / MINUTE_MS);
    return Math.max(0, standing + windows * this.#rpm - atPlanRate);
  }

  /** Calls of an earlier run that the last window may still hold. */
  restore(calls: number, agoMs: number, nowMs: number): void {
    if (calls > 0) this.#restoredMs = nowMs - Math.max(0, agoMs);
    if (agoMs <= MINUTE_MS + LONGEST_LAG_MS) this.#seen.log.restore(calls, nowMs - Math.max(0, agoMs));
  }

  /** Calls of before, known one by one. @param calls.counted whether the service has surely counted it */
  resume(calls: readonly { readonly sentMs: number; readonly answeredMs: number; readonly counted: boolean }[]): void {
    const { log, evidence } = this.#seen;
    const moments = calls.flatMap((call) => [{ call, atMs: call.sentMs, sent: true }, { call, atMs: call.answeredMs, sent: false }]);
    const tickets = new Map<unknown, number>();
    for (const { call, atMs, sent } of moments.sort((one, other) => one.atMs - other.atMs)) {
      if (sent) tickets.set(call, log.sent(atMs, atMs - MINUTE_MS - 2 * LONGEST_LAG_MS));
      else if (call.counted) log.answered(tickets.get(call) as number, atMs);
      else evidence.uncounted(log.answered(tickets.get(call) as number, atMs), atMs);
    }
  }

  /** Calls sent within the last minute. */
  spent(nowMs: number): number {
    return this.#seen.log.sentAfter(nowMs - MINUTE_MS);
  }

  /** A call starts; returns its ticket. */
  sent(nowMs: number): number {
    const { log, evidence, small } = this.#seen;
    this.#pace?.sent(nowMs);
    if (evidence.small) small.sent(nowMs);
    // Without a quota nothing has to be known of calls but when those in flight were sent: there may be ten thousand a second.
    const ticket = this.#rpm === null && !this.limited ? log.sent(nowMs, nowMs - LONGEST_LAG_MS, nowMs) : log.sent(nowMs, nowMs - MINUTE_MS - 2 * LONGEST_LAG_MS);
    if (!this.#byKnowledge) this.#reckoned.add(ticket);
    return ticket;
  }

  /**
   * The answer to a call, or its failure.
   * @param reading null: no answer, or one that says nothing of the quota
   * @param waitMs what a throttled answer asks for
   * @param failed the call came to nothing: how long that took is no latency, and that it has no headers says nothing of the service's
   * @param itselfMs how long the call itself took, where it was granted and told of by others
   */
  answered(ticket: number, nowMs: number, reading: RateReading | null, throttled = false, waitMs: number | null = null, failed = false, itselfMs?: number): void {
    const { log, latencies, told, evidence, small } = this.#seen;
    const sentMs = log.answered(ticket, nowMs);
    const reckoned = this.#reckoned.delete(ticket);
    this.#answers++;
    if (!failed || reading !== null) latencies.add(nowMs - sentMs, nowMs, itselfMs);
    if (reading === null || !isSensible(reading)) {
      if (!failed) this.#silent++;
      if (this.limited && this.#silent < SILENT_ANSWERS) {
        told.lose(nowMs);
        evidence.uncounted(sentMs, nowMs);
      }
      if (throttled) this.#pace?.throttled(nowMs);
      return;
    }
    this.#silent = 0;
    if (reading.unlimited) {
      told.forget();
      return;
    }
    const answer = this.#toTold(ticket, sentMs, nowMs, reading, throttled, waitMs);
    if (throttled) {
      if (!reckoned && this.#answers > 1) evidence.takenByOthers(nowMs);
      evidence.refused(answer, reckoned);
      small.sent(nowMs, Infinity);
    } else {
      const before = told.latest;
      const alone = before !== undefined && ticket === before.ticket + 1 && log.inFlight === 0 && sentMs >= before.answeredMs;
      if (alone) this.#looks.answered(answer, before);
      const wasSmall = evidence.small;
      evidence.answered(answer, reading.limit, before, reckoned, alone);
      if (evidence.small && !wasSmall) small.sent(nowMs, Infinity);
    }
    this.#firstTold ??= answer;
    told.add(answer);
  }

  /** A call that was to start has surely not been sent. */
  withdrawn(ticket: number, nowMs: number): void {
    const { log, evidence } = this.#seen;
    evidence.uncounted(log.answered(ticket, nowMs), nowMs);
    this.#reckoned.delete(ticket);
  }

  /** How many calls may start now. */
  permits(nowMs: number): number {
    const { log, told, evidence } = this.#seen;
    this.#byKnowledge = true;
    if (!this.limited && this.#rpm === null) return Infinity;
    // The first call goes alone: its answer says what the next ones may.
    if (this.#answers === 0) return log.inFlight === 0 ? 1 : this.#wait(Infinity, nowMs);
    if (!this.limited) return this.#byPlan(nowMs);
    if (this.#silent >= SILENT_ANSWERS) {
      // What was said last holds until the reset that was said with it, if that is near.
      const last = told.known(nowMs, evidence.others(nowMs));
      const untilMs = Math.min(told.untilMs, (told.latest?.answeredMs ?? 0) + MINUTE_MS);
      return last !== null && last < 1 && untilMs > nowMs ? this.#wait(untilMs, nowMs) : this.#byPlan(nowMs);
    }
    const idle = awaited(this.#seen, nowMs) === 0;
    let most = Infinity;
    if (this.#rpm !== null) {
      most = this.#rpm * (evidence.planBinds ? 1 : MOST_MINUTES) - log.sentAfter(nowMs - MINUTE_MS);
      if (most <= 0) return this.#wait(log.firstSentAfter(nowMs - MINUTE_MS) + MINUTE_MS, nowMs);
    }
    const refusalUntilMs = told.refusalUntilMs;
    if (refusalUntilMs <= nowMs) {
      this.#byKnowledge = false;
      return idle ? 1 : this.#wait(Infinity, nowMs);
    }
    const known = told.known(nowMs, evidence.others(nowMs));
    const kept = this.#looks.kept();
    const free = known === null ? 0 : known - kept;
    if (free >= 1) {
      const reserved = evidence.reserved(nowMs);
      if (free > reserved) return Math.min(most, free - reserved);
      if (idle) return 1;
    }
    const lookMs = known !== null && known >= 1 ? this.#looks.nextMs(nowMs) : Infinity;
    if (lookMs <= nowMs) return 1;
    this.#byKnowledge = false;
    const keptBack = this.#looks.keptOfComeback();
    const back = comeback(this.#seen, nowMs, 1 + keptBack);
    const trusted = idle ? evidence.trust : evidence.trust - this.#reckoned.size;
    if (back.permits > keptBack) return trusted > 0 ? Math.min(most, back.permits - keptBack, trusted) : this.#wait(Infinity, nowMs);
    // The stated reset is over, and whatever was said before it: one call asks how things stand.
    if (known === null && idle) return this.#silent > 0 && this.#pace !== null ? this.#byPlan(nowMs) : 1;
    return this.#wait(Math.min(lookMs, idle ? told.untilMs : Infinity, back.atMs, refusalUntilMs), nowMs);
  }

  /** For a test's message: what the model goes by. */
  explain(nowMs: number): string {
    const { log, told, evidence, latencies } = this.#seen;
    const kinds = Object.entries({ fixed: evidence.fixed, sliding: evidence.sliding, bucket: evidence.bucket, small: evidence.small, others: evidence.others(nowMs) });
    return `known ${told.known(nowMs, evidence.others(nowMs))}, in flight ${log.inFlight}, comeback ${JSON.stringify(comeback(this.#seen, nowMs, 1))}, ${kinds.filter(([, is]) => is).map(([kind]) => kind).join('|')}, latencies ${latencies.leastMs.toFixed(1)} to ${latencies.maxMs.toFixed(1)}, capacity ${evidence.capacity}, trust ${evidence.trust}, told ${JSON.stringify(told.latest)} of ${told.all.length}`;
  }

  #wait(atMs: number, nowMs: number): number {
    const { log } = this.#seen;
    const givenUpMs = log.inFlight > 0 ? awaitedUntil(this.#seen) : -Infinity;
    this.#nextAt = Math.max(Math.min(atMs, givenUpMs > nowMs ? givenUpMs : Infinity), nowMs + SHORTEST_LOOK_MS);
    return 0;
  }

  #byPlan(nowMs: number): number {
    const pace = this.#pace?.permits(nowMs);
    if (pace === undefined) return Infinity;
    return pace.permits > 0 ? pace.permits : this.#wait(pace.atMs, nowMs);
  }

  #toTold(ticket: number, sentMs: number, nowMs: number, reading: RateReading, throttled: boolean, waitMs: number | null): Told {
    const statedMs = reading.resetMs === null ? MINUTE_MS : reading.resetMs + reading.resetSlackMs;
    return {
      ticket,
      sentMs,
      answeredMs: nowMs,
      throttled,
      remaining: throttled ? 0 : (reading.remaining as number),
      notBeforeMs: throttled || reading.resetMs === null || !reading.resetIsSure ? -Infinity : sentMs + reading.resetMs - reading.resetSlackMs,
      untilMs: nowMs + (throttled && waitMs !== null ? waitMs + this.#offBeatMs() : statedMs),
    };
  }

  /** Calls that are all sent at the end of a pause may meet the calls of a neighbour every time: each goes a little later than the one before did. */
  #offBeatMs(): number {
    const { perMs } = this.#seen.evidence;
    if (perMs === 0) return 0;
    return ((++this.#refusals * GOLDEN_RATIO) % 1) * Math.min(OFF_BEAT_INTERVALS / perMs, MOST_OFF_BEAT_MS);
  }
}

/** More left than the limit, or than any plan has, is nonsense. */
function isSensible(reading: RateReading): boolean {
  if (reading.unlimited) return true;
  return reading.remaining !== null && (reading.limit === null || reading.remaining <= reading.limit);
}
