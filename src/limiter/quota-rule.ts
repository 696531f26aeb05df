/**
 * The interface of a quota. A rule counts permits by the answers that it gets; `QuotaRules` holds the list of a limiter's rules.
 * Times are monotonic milliseconds.
 */
import type { PlanWindow, WindowReading } from '../client/quota/quota-reading.ts';
import type { Wait } from '../util/waits.ts';
import type { RateReading } from './inference/rate-reading.ts';
import type { RecentSlots } from './recent-slots.ts';
import type { SavedQuota } from './saved-quota.ts';

/** The right to start one call: its number, from 1. 0: no right, because the limiter was stopped. */
export type CallNumber = number;

export interface Permits {
  /** Calls that may start now; Infinity when nothing limits them. */
  readonly permits: number;
  /** When to ask again, without permits; Infinity: after the next answer. */
  readonly atMs: number;
  /** False: the permits are only estimated, and a call may be refused. */
  readonly isKnown: boolean;
}

export const UNLIMITED: Permits = { permits: Infinity, atMs: -Infinity, isKnown: true };

/** Without permits, rules are asked again after this time at the earliest: a shorter one could round to now and repeat for ever. */
export const MIN_RECHECK_MS = 0.25;

/** No call may start before `atMs`. */
export function noPermits(atMs: number, nowMs: number): Permits {
  return { permits: 0, atMs: Math.max(atMs, nowMs + MIN_RECHECK_MS), isKnown: true };
}

/** A call that has ended. */
export interface EndedCall {
  readonly callNumber: CallNumber;
  readonly sentMs: number;
  readonly nowMs: number;
  /** The window of the plan, as the answer states it; null when it does not. */
  readonly plan: PlanWindow | null;
  /** The same in milliseconds. */
  readonly reading: RateReading | null;
  /** All other windows that the answer states. */
  readonly windows: readonly WindowReading[];
  readonly throttled: boolean;
  /** The pause that a throttled answer causes; null for any other answer. */
  readonly waitMs: number | null;
  /** The call brought no answer of the service: its duration is no latency, and its missing headers mean nothing. */
  readonly failed: boolean;
}

export interface UsedUp {
  /** The quota in words, such as `quota of 300 requests a day`. */
  readonly what: string;
  readonly untilMs: number;
}

/** The limiter, for a rule that gets permits without an answer. */
export interface Demand {
  /** Calls that would start now. */
  readonly waiting: () => number;
  /** There may be permits. */
  readonly onPermits: () => void;
}

export interface QuotaRule {
  /** False while any number of calls may start. Calls that no rule limits start without a gate. */
  readonly limited: boolean;
  /** Calls wait to a fraction of a millisecond, and `left` is called after each; absent: a timer is exact enough. */
  readonly isExact?: boolean;
  /** How long the call log must hold calls for this rule, milliseconds. */
  readonly keptMs: number;
  /** A pure query: it changes nothing, and gives the same until a call starts or ends. */
  permits(nowMs: number): Permits;
  /** A call starts. @param isKnown as `permits` gave it at this moment */
  sent(callNumber: CallNumber, nowMs: number, isKnown: boolean): void;
  /** The thread is free again after a call has started, so the call has left. */
  left?(nowMs: number): void;
  answered(call: EndedCall): void;
  /** A granted call was not sent, or it is unknown whether the service has counted it. */
  withdrawn?(callNumber: CallNumber, sentMs: number, nowMs: number): void;
  /** The quota without permits, and until when. null while it has permits or only paces, or while an answer in flight may change it. */
  usedUp(nowMs: number): UsedUp | null;
  /** The reason why calls wait; null when one may start, or when an answer in flight may change it. */
  waiting(nowMs: number): Wait | null;
  /** How long to pause at most after a refusal that does not say it, milliseconds; absent or Infinity: unknown. */
  pauseMs?(): number;
  /** Requests that the service offered beyond the plan's rate; absent: none. */
  beyondPlan?(nowMs: number): number;
  /** The state for the next run, beside the calls of the last minute. @param wallMs wall clock of `nowMs` */
  save?(nowMs: number, wallMs: number): Partial<SavedQuota>;
  /** Takes what the run before has saved, before the first call. */
  restore?(saved: SavedQuota, nowMs: number, wallMs: number): void;
  /** Takes calls that were answered earlier, before the first call of its own. */
  addEarlier?(slots: RecentSlots): void;
  /** The limiter begins: from now on the rule may ask for it. */
  start?(demand: Demand): void;
  /** A call waits for this rule. */
  wanted?(): void;
  /** No more calls start. */
  stop?(): void;
  /** Every call has ended. */
  close?(): Promise<void>;
}
