/** The lookups of a record, step by step: one rule for the run, which has answers, and for the plan, which has the ledger. Pure. */
import type { CompiledJob } from '../definition/compiled-job.ts';
import { verifyKeyAsSpelled, type EnrichLookup, type Lookups, type RecordKeys, type RevealLookup } from './lookup-keys.ts';
import type { LookupScopes } from './scopes.ts';
import type { Step } from '../steps/registry.ts';

/** A lookup of any step. `by`: the kind of its key, where a step has several. `spelled`: an address as the service gets it. */
export interface WalkLookup {
  readonly key: string;
  readonly by?: EnrichLookup['by'] | RevealLookup['by'];
  readonly spelled?: string;
}

/** A record when a step begins. */
export interface RecordSoFar {
  readonly keys: RecordKeys;
  /** The person that enrich found; null when it found nobody, or was not asked. */
  readonly person: Readonly<Record<string, unknown>> | null;
}

/** The settings that decide lookups. */
type WalkRules = Pick<CompiledJob, 'verify' | 'waterfalls'>;

/** The lookups of a step: one for each provider that it asks, null where the record has no key for it. Null: the record skips the step. */
export function lookupsFor(step: Step, soFar: RecordSoFar, rules: WalkRules): Lookups<WalkLookup> | null {
  const { keys } = soFar;
  switch (step) {
    case 'enrich':
    case 'reveal':
      return keys[step].length === 0 ? null : keys[step];
    case 'verify':
      return atEach(step, addressToVerify(soFar, rules), rules);
    case 'company':
      return atEach(step, keys.company === null ? null : { key: keys.company }, rules);
    default:
      return step satisfies never;
  }
}

/** The number of a lookup's scope in the ledger. */
export function scopeOf(step: Step, { by }: WalkLookup, scopes: LookupScopes): number {
  if (step === 'verify' || step === 'company') return scopes[step];
  return (scopes[step] as Readonly<Record<string, number>>)[by ?? ''] ?? -1;
}

/** The record's own address, else the one that enrich found. */
function addressToVerify({ keys, person }: RecordSoFar, { verify }: WalkRules): WalkLookup | null {
  if (verify.when === 'unverified' && person?.['verified'] === true) return null;
  const found = person?.['email'];
  if (typeof found === 'string' && keys.verify === null) return verifyKeyAsSpelled(found);
  return keys.verify === null ? null : { key: keys.verify, spelled: keys.spelled ?? keys.verify };
}

/** The same lookup at each provider. */
function atEach(step: Step, lookup: WalkLookup | null, { waterfalls }: WalkRules): Lookups<WalkLookup> | null {
  if (lookup === null) return null;
  return (waterfalls[step]?.from ?? []).map(() => lookup);
}
