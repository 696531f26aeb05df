/** The part of the quota that outlives a run, in the checkpoint. Types only. Times are epoch milliseconds. */
import type { SavedSlots } from './recent-slots.ts';

export interface SavedQuota {
  /** Calls of the last minute. The service has counted the calls of a slot by its end. */
  readonly minute: SavedSlots;
  /** When this was saved. */
  readonly savedAtMs: number;
  /** A pause that the service asked for and that no answer has ended. Absent: no pause. */
  readonly later?: SavedPause;
  /** Calls of the whole job by then, in the count of the checkpoint's `callsAtMost`. Absent outside a checkpoint. */
  readonly sent?: number;
  /** Windows beside the minute's, with the calls in each. */
  readonly windows?: readonly SavedWindow[];
  /** The bursts that refusals have shown. Absent: none, or an older version has saved this. */
  readonly bursts?: readonly SavedBurst[];
}

export interface SavedBurst {
  /** The period of the rate. */
  readonly periodMs: number;
  /** Calls at once. */
  readonly burst: number;
  /** The part of the rate that is used, up to 1. */
  readonly pace: number;
}

/** The reason for the length of a pause: `Retry-After`, a quota that the headers show as used up, or nothing that the service said. */
export type PauseCause = 'retry_after' | 'used_up' | 'unstated';

export interface SavedPause {
  readonly untilMs: number;
  /** The length of the pause, milliseconds. */
  readonly forMs: number;
  /** Why, as in `PauseReason`. Absent: an older version has saved this. */
  readonly cause?: PauseCause;
  readonly what?: string;
}

export interface SavedWindow {
  readonly periodMs: number;
  readonly limit: number | null;
  /** Permits left by the last answer; null when no header stated them. */
  readonly left: number | null;
  readonly resetAtMs: number | null;
  readonly spent: SavedSlots;
  /** When a used-up window opens, for the report; a resumed run computes it anew. Absent: the window has permits, or it is unknown. */
  readonly opensAtMs?: number;
}
