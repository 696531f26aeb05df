/** The waits of a job over all resumes, each with its start, length and reason. The report shows them. Pure. */
import type { WaitReason } from '../util/waits.ts';

/** A wait of at least `SILENT_AFTER_MS`. */
export interface LoggedWait {
  /** RFC 3339, UTC. */
  readonly at: string;
  readonly ms: number;
  readonly reason: WaitReason;
  readonly what: string;
}

/** The form in the checkpoint and the report. */
export interface WaitTotals {
  /** The number of waits, including those missing in `list`. */
  readonly count: number;
  readonly ms: number;
  /** Milliseconds by reason. */
  readonly reasons: Readonly<Partial<Record<WaitReason, number>>>;
  /** The longest waits, in the order of their start. */
  readonly list: readonly LoggedWait[];
}

/** Milliseconds without a request from which on a wait counts. */
export const SILENT_AFTER_MS = 5_000;
/** Further waits are counted but not listed, because the checkpoint is written every second. */
export const MOST_LISTED = 100;

export const NO_WAITS: WaitTotals = { count: 0, ms: 0, reasons: {}, list: [] };

export function addWait(totals: WaitTotals, wait: LoggedWait): WaitTotals {
  return addWaits([totals, { count: 1, ms: wait.ms, reasons: { [wait.reason]: wait.ms }, list: [wait] }]);
}

/** Adds the waits of shards or runs. */
export function addWaits(all: readonly WaitTotals[]): WaitTotals {
  const reasons: Partial<Record<WaitReason, number>> = {};
  for (const totals of all)
    for (const [reason, ms] of Object.entries(totals.reasons) as [WaitReason, number][]) reasons[reason] = (reasons[reason] ?? 0) + ms;
  const longest = all
    .flatMap(({ list }) => list)
    .sort((one, other) => other.ms - one.ms)
    .slice(0, MOST_LISTED);
  return {
    count: all.reduce((sum, { count }) => sum + count, 0),
    ms: all.reduce((sum, { ms }) => sum + ms, 0),
    reasons,
    list: longest.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0)),
  };
}
