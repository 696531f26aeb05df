/** The limiter's options and arguments. Types only. */
import type { QuotaReading } from '../client/quota/quota-reading.ts';
import type { QuotaWindow } from '../providers/compiled-provider.ts';
import type { CallNumber } from './quota-rule.ts';
import type { PauseCause, SavedQuota } from './saved-quota.ts';
import type { SharedQuota } from './rules/shared/shared-quota.ts';

export interface AnsweredCall {
  readonly callNumber: CallNumber;
  /** The quota that the answer states; null when it states none. */
  readonly quota: QuotaReading | null;
  readonly throttled: boolean;
  /** No answer came, or one with which the service reports its own failure. */
  readonly failed?: boolean;
  /** The wait that a throttled answer asks for; null when it names none. */
  readonly retryAfterMs: number | null;
}

export interface LimiterOptions {
  /** Requests a minute; null for no pacing unless the service asks for it. */
  readonly rpm: number | null;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** Epoch milliseconds: Bottleneck uses the wall clock, and so does everything that outlives the run. */
  readonly wallNow: () => number;
  /** Runs a callback when the thread is free: `setImmediate`. Absent: calls wait for timers alone, to a millisecond. */
  readonly whenFree?: (callback: () => void) => void;
  /** The quota that the run before has saved. */
  readonly restored?: SavedQuota | null;
  /** One quota for several pods; null: this run has the quota for itself, or a fixed share of it. */
  readonly shared?: SharedQuota | null;
  /** This run's part of the plan, 0 < share <= 1, where several runs use the plan at once without a shared quota. */
  readonly share?: number;
  /** Windows that the job states beside the plan. A shard gets its part. */
  readonly windows?: readonly QuotaWindow[];
  /**
   * Keeps a permitted call from leaving, for example while the API key is read again; null when nothing does. Asked before each grant,
   * because calls that hold permits meanwhile would all start at once afterwards.
   */
  readonly blockedBy?: () => Promise<void> | null;
  /** The service throttles: every call waits, or waits longer. */
  readonly onThrottled?: (wait: ThrottledWait) => void;
  /** The form of the service's resets is known, such as "as a date". Called once. */
  readonly onResetUnit?: (how: string) => void;
  /** A number below 0 in a quota header, such as `remaining -1`: it means unlimited or unknown. Called once. */
  readonly onNegativeQuota?: (what: string) => void;
  /** The text of a reset that cannot be read. Called once. */
  readonly onUnreadableReset?: (value: string) => void;
}

export interface PauseReason {
  readonly cause: PauseCause;
  /** Completes "waiting for ...". */
  readonly what: string;
}

export interface ThrottledWait extends PauseReason {
  /** Monotonic milliseconds. */
  readonly untilMs: number;
  /** False: the call left before the pause was known, so this is the same pause. */
  readonly isNew: boolean;
}
