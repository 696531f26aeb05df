/** The quota that an answer states. Types only. */
import type { StatedReset } from './stated-reset.ts';

/** The window that the plan is stated for: the minute's, or one without a name. */
export interface PlanWindow {
  /** Permits of a whole window; null when the answer does not say. 0: the plan is unlimited. */
  readonly limit: number | null;
  /** Permits that are left; null when the answer does not say. */
  readonly remaining: number | null;
  /** null: the answer has no reset, or one that cannot be read. */
  readonly reset: StatedReset | null;
}

/** A window that the answer names, such as the hour. */
export interface WindowReading {
  readonly periodMs: number;
  readonly limit: number | null;
  readonly remaining: number;
  /** Milliseconds from the answer until the window's quota is restored; null when the answer does not say. */
  readonly resetMs: number | null;
}

/** The quotas that one answer states. */
export interface QuotaReading {
  /** null: the answer says nothing about it. */
  readonly plan: PlanWindow | null;
  /** All other windows. */
  readonly windows: readonly WindowReading[];
  /** A number below 0, such as `remaining -1`, which means unlimited or unknown; absent: none. */
  readonly negative?: string;
  /** The text of a reset that is no number, date or duration; null when every reset can be read. */
  readonly unreadableReset: string | null;
}
