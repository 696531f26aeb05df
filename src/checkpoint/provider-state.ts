/** The state of each provider of a job between runs. */
import type { SavedQuota } from '../limiter/saved-quota.ts';
import type { QuarantineState } from '../lookup/miss-quarantine.ts';
import { NO_TOTALS, type RunTotals } from './run-totals.ts';

/** The same as a checkpoint has of the one service of a job without providers. */
export interface ProviderState extends QuarantineState {
  /** True once the provider has answered a lookup, which proves its address. */
  readonly answered: boolean;
  /** Its own calls and credits. Lookups, waits and runs are counted for the whole job. */
  readonly totals: RunTotals;
  /** The spent quota, by the names of the operations that it counts. */
  readonly spent: Readonly<Record<string, SavedQuota>>;
  readonly callsAtMost: number;
  readonly creditsAtMost: number;
  /** Why the latest run went on without the provider; null when it did not. */
  readonly skipped: string | null;
}

/** By the job's names. */
export type ProviderStates = Readonly<Record<string, ProviderState>>;

export const NEW_PROVIDER: ProviderState = {
  trusted: false,
  answered: false,
  totals: NO_TOTALS,
  spent: {},
  callsAtMost: 0,
  creditsAtMost: 0,
  skipped: null,
};
