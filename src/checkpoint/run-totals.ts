/** The totals of a run that are not rows. */
import type { PauseCause } from '../limiter/limiter.ts';
import type { KeptSize } from '../lookup/request-size.ts';
import type { StoredSlots } from './call-slots.ts';
import type { NotableCalls } from './notable-calls.ts';
import type { PromisedTotals } from './promised-totals.ts';
import type { RunLog } from './run-log.ts';
import { NO_WAITS, type WaitTotals } from './wait-log.ts';
import type { ByStep } from '../steps/registry.ts';

/** The times that the service asked to wait. */
export interface Throttled {
  readonly events: number;
  readonly waitedMs: number;
  /** The events by the reason for the length of the wait. Absent: there was none, or an older version has counted it. */
  readonly causes?: Readonly<Partial<Record<PauseCause, number>>>;
}

/** Over all resumes. Times in milliseconds. */
export interface RunTotals {
  readonly calls: Readonly<Record<string, number>>;
  readonly lookups: { readonly unique: number; readonly fromLedger: number };
  readonly retries: number;
  readonly throttled: Throttled;
  /** Reasons for sending nothing, with their times. */
  readonly waits: WaitTotals;
  /** Requests beyond the plan's rate that the service offered, because its quota was full when a run began. */
  readonly beyondPlan: number;
  readonly credits: number;
  /** Sizes of verify requests, and the number that was too large for the service. Left out until one was answered. */
  readonly verifyRequests?: KeptSize & { readonly tooLarge: number };
  /** The same of other steps whose requests carry several lookups. Left out until one was too large. */
  readonly requestSizes?: Readonly<Record<string, KeptSize & { readonly tooLarge: number }>>;
  /** Answers by latency bucket, see `LatencyHistogram`. */
  readonly latency: Readonly<Record<string, number>>;
  /** Running time over all resumes. */
  readonly activeMs: number;
  /** When the calls were sent. This and the next two are optional in older checkpoints. */
  readonly series?: StoredSlots;
  readonly notable?: NotableCalls;
  readonly runs?: RunLog;
  /** Credits that answers may have cost which did not arrive or cannot be read. Left out where there were none. */
  readonly creditsLost?: number;
  /** Lookups whose answers were promised for later. Left out where there was none. */
  readonly promised?: PromisedTotals;
  /** The credits by step: only of a provider that a job names. */
  readonly creditsBy?: ByStep<number>;
  /** Answers came from sample data. Left out otherwise. */
  readonly isSample?: true;
}

export const NO_TOTALS: RunTotals = {
  calls: {},
  lookups: { unique: 0, fromLedger: 0 },
  retries: 0,
  throttled: { events: 0, waitedMs: 0 },
  waits: NO_WAITS,
  beyondPlan: 0,
  credits: 0,
  latency: {},
  activeMs: 0,
};
