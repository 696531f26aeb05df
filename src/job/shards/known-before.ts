/** The knowledge of the run before its shards, for each of them. Pure. */
import type { Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { NEW_PROVIDER, type ProviderState } from '../../checkpoint/provider-state.ts';
import { partOfCalls } from '../../limiter/recent-slots.ts';
import type { SavedQuota } from '../../limiter/saved-quota.ts';
import type { ShardPlan } from './shard-plan.ts';

/** The keys with which the checkpoint of a shard begins. Its totals begin at nothing, and the join adds those of the run before. */
export function knownBefore({ of, before }: ShardPlan): Pick<Checkpoint, 'trusted' | 'answered' | 'missForms' | 'spent' | 'providers'> {
  const { trusted = false, answered = false, missForms, spent = null, providers } = before ?? {};
  return {
    trusted,
    answered,
    ...(missForms === undefined ? {} : { missForms }),
    spent: spent === null ? null : partOfQuota(spent, of),
    ...(providers === undefined ? {} : { providers: mapValues(providers, (state) => knownOfProvider(state, of)) }),
  };
}

function knownOfProvider({ trusted, answered, missForms, spent }: ProviderState, of: number): ProviderState {
  return { ...NEW_PROVIDER, trusted, answered, missForms, spent: mapValues(spent, (quota) => partOfQuota(quota, of)) };
}

/** Each shard counts its part of the calls that the run has spent. */
function partOfQuota(quota: SavedQuota, of: number): SavedQuota {
  return {
    ...quota,
    // The shard counts its own calls from nothing.
    ...(quota.sent === undefined ? {} : { sent: 0 }),
    minute: partOfCalls(quota.minute, of),
    ...(quota.windows === undefined
      ? {}
      : { windows: quota.windows.map((window) => ({ ...window, spent: partOfCalls(window.spent, of) })) }),
  };
}

function mapValues<T, U>(of: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));
}
