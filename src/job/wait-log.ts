/** The waits of a job, for its report: each with its start, its length and its reason, over all resumes. Pure. */
import type { WaitReason } from '../waits.ts';

/** One wait of at least `SILENT_AFTER_MS`. */
export interface LoggedWait {
  /** RFC 3339, UTC. */
  readonly at: string;
  readonly ms: number;
  readonly reason: WaitReason;
  readonly what: string;
}

/** As the checkpoint and the report have it. */
export interface WaitTotals {
  /** All waits, also those that `list` does not name. */
  readonly count: number;
  readonly ms: number;
  /** Milliseconds by reason. */
  readonly reasons: Readonly<Partial<Record<WaitReason, number>>>;
  /** The longest ones, in the order of their start. */
  readonly list: readonly LoggedWait[];
}

/** A wait is one when nothing was sent for this long. */
export const SILENT_AFTER_MS = 5_000;
/** More waits are counted, and not listed: the checkpoint is written every second. */
export const MOST_LISTED = 100;

export const NO_WAITS: WaitTotals = { count: 0, ms: 0, reasons: {}, list: [] };

export function addWait(totals: WaitTotals, wait: LoggedWait): WaitTotals {
  return addWaits([totals, { count: 1, ms: wait.ms, reasons: { [wait.reason]: wait.ms }, list: [wait] }]);
}

/** The sum of several: of shards, or of runs. */
export function addWaits(all: readonly WaitTotals[]): WaitTotals {
  const reasons: Partial<Record<WaitReason, number>> = {};
  for (const totals of all) for (const [reason, ms] of Object.entries(totals.reasons) as [WaitReason, number][]) reasons[reason] = (reasons[reason] ?? 0) + ms;
  const longest = all.flatMap(({ list }) => list).sort((one, other) => other.ms - one.ms).slice(0, MOST_LISTED);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    ms: all.reduce((sum, { ms }) => sum + ms, 0),
    reasons,
    list: longest.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0)),
  };
}
