/** The lookups of a record, step by step: one rule for the run, which has answers, and for the plan, which has the ledger. Pure. */
import type { CompiledJob } from '../definition/compiled-job.ts';
import { specOf, type Step } from '../steps/registry.ts';
import { verifyKeyAsSpelled, type Lookup, type Lookups, type RecordKeys } from './lookup-keys.ts';
import type { LookupScopes } from './scopes.ts';

/** A record when a step begins. */
export interface RecordSoFar {
  readonly keys: RecordKeys;
  /** The person that enrich found; null when it found nobody, or was not asked. */
  readonly person: Readonly<Record<string, unknown>> | null;
}

/** The settings that decide lookups. */
type WalkRules = Pick<CompiledJob, 'options' | 'waterfalls'>;

/** The lookups of a step: one for each provider that it asks, null where the record has no key for it. Null: the record skips the step. */
export function lookupsFor(step: Step, { keys, person }: RecordSoFar, { options, waterfalls }: WalkRules): Lookups | null {
  const own = keys.lookups[step] ?? null;
  const { follows } = specOf(step);
  if (follows === undefined || person === null) return own;
  if (options[step].when === 'unverified' && person[follows.unless] === true) return null;
  const found = person[follows.field];
  if (own !== null || typeof found !== 'string') return own;
  const lookup = verifyKeyAsSpelled(found);
  return lookup === null ? null : (waterfalls[step]?.from ?? []).map(() => lookup);
}

/** The number of a lookup's scope in the ledger. */
export function scopeOf(step: Step, { by }: Lookup, scopes: LookupScopes): number {
  return scopes[step][by] ?? -1;
}
