/** The lookups of a record, step by step: one rule for the run, which has answers, and for the plan, which has the ledger. Pure. */
import type { CompiledJob } from '../definition/compiled-job.ts';
import type { Waterfall } from '../definition/waterfall.ts';
import type { FoundKey } from '../steps/keys.ts';
import { specOf, type Step } from '../steps/registry.ts';
import { isObject } from '../util/is-object.ts';
import { verifyKeyAsSpelled, type Lookup, type LookupBy, type Lookups, type RecordKeys } from './lookup-keys.ts';
import type { LookupScopes } from './scopes.ts';

/** A record when a step begins. */
export interface RecordSoFar {
  readonly keys: RecordKeys;
  /** The record that an earlier step found; null when it found none, or was not asked. */
  readonly recordOf: (step: Step) => AnyRecord | null;
}

type AnyRecord = Readonly<Record<string, unknown>>;

/** The settings that decide lookups. */
type WalkRules = Pick<CompiledJob, 'steps' | 'options' | 'waterfalls'>;

/** The lookups of a step: one for each provider that it asks, null where the record has no key for it. Null: the record skips the step. */
export function lookupsFor(step: Step, { keys, recordOf }: RecordSoFar, { options, waterfalls }: WalkRules): Lookups | null {
  const own = keys.lookups[step] ?? null;
  const { follows } = specOf(step);
  if (follows === undefined) {
    const { by } = keys;
    return by?.[step] === undefined ? own : foundLookups(waterfalls[step]?.keys ?? [], by[step], recordOf);
  }
  const person = recordOf(follows.step);
  if (person === null) return own;
  if (options[step]?.when === 'unverified' && person[follows.unless] === true) return null;
  const found = person[follows.field];
  if (own !== null || typeof found !== 'string') return own;
  const lookup = verifyKeyAsSpelled(found);
  return lookup === null ? null : (waterfalls[step]?.from ?? []).map(() => lookup);
}

/** The lookups of a step that also uses keys which earlier steps found: the first source with a key. */
function foundLookups(keys: Waterfall['keys'], lookupBy: LookupBy, recordOf: RecordSoFar['recordOf']): Lookups | null {
  const lookups = keys.map((sources) => {
    for (const source of sources) {
      const lookup = typeof source === 'string' ? lookupBy(source) : lookupBy(source.kind, textFound(source, recordOf) ?? '');
      if (lookup !== null) return lookup;
    }
    return null;
  });
  return lookups.every((lookup) => lookup === null) ? null : lookups;
}

/** The text of a key that an earlier step found; the first of a list. Null when it found none. */
export function textFound({ step, field }: FoundKey, recordOf: RecordSoFar['recordOf']): string | null {
  let value: unknown = recordOf(step);
  for (const part of field.split('.')) value = isObject(value) && Object.hasOwn(value, part) ? value[part] : null;
  const [first] = [value].flat(1);
  return typeof first === 'string' && first !== '' ? first : null;
}

/** The earlier steps whose records decide the lookups of a step. */
export function stepsNeeded(step: Step, { steps, waterfalls }: Pick<WalkRules, 'steps' | 'waterfalls'>): readonly Step[] {
  const found = (waterfalls[step]?.keys ?? []).flat().flatMap((source) => (typeof source === 'string' ? [] : [source.step]));
  const { follows } = specOf(step);
  const before = steps.slice(0, steps.indexOf(step));
  return before.filter((one) => one === follows?.step || found.includes(one));
}

/** The number of a lookup's scope in the ledger. */
export function scopeOf(step: Step, { by }: Lookup, scopes: LookupScopes): number {
  return scopes[step]?.[by] ?? -1;
}
