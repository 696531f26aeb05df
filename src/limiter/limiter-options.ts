/** What a limiter is told when it is made. Types only. */
import type { StatedWindow } from './quota-windows.ts';
import type { Spent } from './quota-model.ts';
import type { SharedQuota } from './shared/shared-quota.ts';

export interface LimiterOptions {
  /** Requests a minute; null: no pacing unless the service asks for it. */
  readonly rpm: number | null;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** Wall clock, milliseconds: for services that send no `Date`, because Bottleneck goes by it, and for what outlives the run. */
  readonly wallNow: () => number;
  /** What the run before has spent of the last window. */
  readonly spent?: Spent | null;
  /** One quota for several pods; null: this run alone has it, or a fixed share of it. */
  readonly shared?: SharedQuota | null;
  /** The part of the plan that is this run's, 0 < share <= 1: one of several that use it at once and do not share a quota. */
  readonly share?: number;
  /** Windows that the job states, beside the plan: of a shard its part. */
  readonly windows?: readonly StatedWindow[];
  /**
   * What keeps a call from leaving although it may start, such as a key that is read again; null: nothing. Asked before each grant:
   * permits that calls held meanwhile would all be used at once afterwards.
   */
  readonly held?: () => Promise<void> | null;
  /** The service said later, and everything waits, or waits longer than before. */
  readonly onThrottled?: (wait: ThrottledWait) => void;
  /** How the service states its reset is known now, such as "as a date": told once. */
  readonly onResetUnit?: (how: string) => void;
  /** A reset that nothing can be made of, as the service sent it: told once. */
  readonly onUnreadableReset?: (value: string) => void;
}

export interface ThrottledWait {
  /** Monotonic milliseconds. */
  readonly untilMs: number;
  /** False: for the same reason as the wait before, because the call left before that was known. */
  readonly isNew: boolean;
}
