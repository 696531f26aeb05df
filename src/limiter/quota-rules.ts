/**
 * The quotas of one limiter as one: a call starts when every rule permits it, and every rule learns of its end. It keeps the log of calls
 * and their latencies for all rules. Pure, apart from a rule that is shared with other pods: time is passed in.
 */
import type { Wait } from '../util/waits.ts';
import { CallLog } from './call-log.ts';
import { Latencies } from './inference/latencies.ts';
import { MINUTE_MS } from './inference/quota-observations.ts';
import type { CallNumber, Demand, EndedCall, Permits, QuotaRule, UsedUp } from './quota-rule.ts';
import { restoreSlots, saveSlots, type RecentSlots } from './recent-slots.ts';
import type { SavedQuota } from './saved-quota.ts';

/** Calls of an earlier run may have been counted this long after they were noted. */
const RESTORED_LAG_MS = 30_000;

/** The answer to a call. */
export type Answer = Omit<EndedCall, 'sentMs'> & {
  /** The duration of the call itself, where another pod reports it. */
  readonly ownMs?: number;
};

export class QuotaRules {
  readonly #log = new CallLog();
  readonly #latencies = new Latencies();
  readonly #rules: readonly QuotaRule[];
  /** The permits of each rule at `#askedMs`; forgotten when a call starts or ends. */
  readonly #asked: Permits[] = [];
  #askedMs: number | null = null;

  constructor(make: (log: CallLog, latencies: Latencies) => readonly QuotaRule[]) {
    this.#rules = make(this.#log, this.#latencies);
  }

  get limited(): boolean {
    return this.#rules.some(({ limited }) => limited);
  }

  /** Whether calls wait to a fraction of a millisecond. */
  get isExact(): boolean {
    return this.#rules.some(({ isExact = false }) => isExact);
  }

  /** The fewest permits of any rule. Without permits, `atMs` is when the last of the rules may have some. */
  permits(nowMs: number): { readonly permits: number; readonly atMs: number } {
    let [permits, atMs] = [Infinity, -Infinity];
    for (const one of this.#ask(nowMs)) {
      permits = Math.min(permits, one.permits);
      if (one.permits < 1) atMs = Math.max(atMs, one.atMs);
    }
    return { permits, atMs };
  }

  /** A call starts; returns its number. */
  sent(nowMs: number): CallNumber {
    const asked = this.#ask(nowMs);
    let keptMs = 0;
    for (const rule of this.#rules) keptMs = Math.max(keptMs, rule.keptMs);
    const callNumber = this.#log.sent(nowMs, keptMs);
    for (let at = 0; at < asked.length; at++) this.#rules[at]?.sent(callNumber, nowMs, asked[at]?.isKnown ?? true);
    this.#askedMs = null;
    return callNumber;
  }

  /** The last call to start has left by now. */
  left(nowMs: number): void {
    for (const rule of this.#rules) rule.left?.(nowMs);
    this.#askedMs = null;
  }

  /** A call has ended, with an answer or without. */
  answered(answer: Answer): void {
    const { callNumber, nowMs, failed, reading, ownMs } = answer;
    const sentMs = this.#log.answered(callNumber, nowMs);
    if (!failed || reading !== null) this.#latencies.add(nowMs - sentMs, nowMs, ownMs);
    const call = { ...answer, sentMs };
    for (const rule of this.#rules) rule.answered(call);
    this.#askedMs = null;
  }

  /** A granted call was not sent. */
  withdrawn(callNumber: CallNumber, nowMs: number): void {
    const sentMs = this.#log.answered(callNumber, nowMs);
    for (const rule of this.#rules) rule.withdrawn?.(callNumber, sentMs, nowMs);
    this.#askedMs = null;
  }

  /** The used-up quota that returns last; null when none is used up. */
  usedUp(nowMs: number): UsedUp | null {
    return lastOf(this.#rules.map((rule) => rule.usedUp(nowMs)));
  }

  /** The wait that ends last; null when a call may start, or when an answer in flight may change it. */
  waiting(nowMs: number): Wait | null {
    return lastOf(this.#rules.map((rule) => rule.waiting(nowMs)));
  }

  /** How long to pause at most after a refusal that does not say it, milliseconds; Infinity when no rule knows. */
  pauseMs(): number {
    return this.#rules.reduce((least, rule) => Math.min(least, rule.pauseMs?.() ?? Infinity), Infinity);
  }

  /** Requests that the service offered beyond the plan's rate so far; 0 when it is unknown. */
  beyondPlan(nowMs: number): number {
    return this.#rules.reduce((sum, rule) => sum + (rule.beyondPlan?.(nowMs) ?? 0), 0);
  }

  /** Calls sent within the last minute. */
  spent(nowMs: number): number {
    return this.#log.sentAfter(nowMs - MINUTE_MS);
  }

  /** The quota for the next run. @param wallMs wall clock of `nowMs` */
  save(nowMs: number, wallMs: number): SavedQuota {
    const minute = saveSlots(this.#log.recent(nowMs, MINUTE_MS), nowMs, wallMs);
    const parts = this.#rules.map((rule) => rule.save?.(nowMs, wallMs) ?? {});
    const bursts = parts.flatMap((part) => part.bursts ?? []);
    return { minute, savedAtMs: wallMs, ...Object.assign({}, ...parts), ...(bursts.length === 0 ? {} : { bursts }) };
  }

  restore(saved: SavedQuota, nowMs: number, wallMs: number): void {
    this.restoreCalls(restoreSlots(saved.minute, nowMs, wallMs), nowMs);
    for (const rule of this.#rules) rule.restore?.(saved, nowMs, wallMs);
  }

  /** Adds the calls of an earlier run that the last window may still hold, before any other call. */
  restoreCalls(slots: RecentSlots, nowMs: number): void {
    this.#log.restore(slots, nowMs - MINUTE_MS - RESTORED_LAG_MS);
    for (const rule of this.#rules) rule.addEarlier?.(slots);
  }

  /** Adds earlier calls one by one. @param calls.counted whether the service has counted it for certain */
  resume(calls: readonly { readonly sentMs: number; readonly answeredMs: number; readonly counted: boolean }[]): void {
    const moments = calls.flatMap((call) => [
      { call, atMs: call.sentMs, sent: true },
      { call, atMs: call.answeredMs, sent: false },
    ]);
    const callNumbers = new Map<unknown, CallNumber>();
    for (const { call, atMs, sent } of moments.sort((one, other) => one.atMs - other.atMs)) {
      if (sent) {
        callNumbers.set(call, this.#log.sent(atMs, 2 * MINUTE_MS));
        continue;
      }
      for (const rule of this.#rules) rule.addEarlier?.([[atMs, 1]]);
      const callNumber = callNumbers.get(call) as CallNumber;
      if (call.counted) this.#log.answered(callNumber, atMs);
      else this.withdrawn(callNumber, atMs);
    }
  }

  start(demand: Demand): void {
    const onPermits = (): void => {
      this.#askedMs = null;
      demand.onPermits();
    };
    for (const rule of this.#rules) rule.start?.({ ...demand, onPermits });
  }

  wanted(): void {
    for (const rule of this.#rules) rule.wanted?.();
  }

  stop(): void {
    for (const rule of this.#rules) rule.stop?.();
  }

  async close(): Promise<void> {
    for (const rule of this.#rules) await rule.close?.();
  }

  #ask(nowMs: number): readonly Permits[] {
    if (this.#askedMs === nowMs) return this.#asked;
    for (let at = 0; at < this.#rules.length; at++) this.#asked[at] = (this.#rules[at] as QuotaRule).permits(nowMs);
    this.#askedMs = nowMs;
    return this.#asked;
  }
}

/** The one with the latest end; of equal ones the last. An unknown end is the earliest. */
function lastOf<T extends { readonly untilMs: number | null }>(all: readonly (T | null)[]): T | null {
  let last: T | null = null;
  for (const one of all) if (one !== null && (one.untilMs ?? 0) >= (last?.untilMs ?? -Infinity)) last = one;
  return last;
}
