/** The state of each provider of a job between runs. */
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { Step } from '../steps/registry.ts';
import type { SavedQuota } from '../limiter/saved-quota.ts';
import type { QuarantineState } from '../lookup/miss-quarantine.ts';
import { NO_TOTALS, type RunTotals } from './run-totals.ts';

/** The state of a provider. In the simple form of a job the root of the checkpoint has it. */
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

/** The name under which a state has the quota of these operations. */
export function channelName(steps: readonly Step[]): string {
  return steps.join('+');
}

/** The same of their polls, where those have a quota of their own. */
export function pollsName(steps: readonly Step[]): string {
  return `${channelName(steps)}, polls`;
}

/** The keys of a checkpoint about providers. */
interface Root extends QuarantineState, Pick<ProviderState, 'answered' | 'totals' | 'callsAtMost' | 'creditsAtMost'> {
  readonly spent: SavedQuota | null;
  readonly providers?: ProviderStates;
}

/** The state of a provider after the last run. The simple form has that of its service at the root of the checkpoint. */
export function providerState(checkpoint: Root, job: Pick<CompiledJob, 'namesProviders' | 'steps'>, name: string): ProviderState {
  if (job.namesProviders) return checkpoint.providers?.[name] ?? NEW_PROVIDER;
  const { trusted, held, missForms, answered, totals, spent, callsAtMost, creditsAtMost } = checkpoint;
  const known = { trusted, answered, held, missForms };
  const quota = spent === null ? {} : { [channelName(job.steps)]: spent };
  return { ...known, totals, spent: quota, callsAtMost, creditsAtMost, skipped: null };
}
