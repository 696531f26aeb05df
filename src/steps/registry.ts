/** All steps. To add one, write its file and add it here. Pure. */
import { COMPANY } from './company.ts';
import { ENRICH } from './enrich.ts';
import { KEYS, type KeyKind, type ProviderKey } from './keys.ts';
import { REVEAL } from './reveal.ts';
import type { StepSpec } from './step-spec.ts';
import { VERIFY } from './verify.ts';

const ALL = [ENRICH, VERIFY, COMPANY, REVEAL] as const;

/** The declarations, each with its own name and options. */
export type Declared = (typeof ALL)[number];
export type Step = Declared['name'];

/** In the order in which a record passes them. */
export const SPECS: readonly StepSpec<Step>[] = ALL;

export const STEPS: readonly Step[] = SPECS.map(({ name }) => name);

/** The steps by their rank: the first that has a key for a record decides its outcome. */
export const BY_RANK: readonly StepSpec<Step>[] = SPECS.toSorted((one, other) => one.rank - other.rank);

/** The declaration of a step. */
export function specOf(step: Step): StepSpec<Step> {
  return BY_NAME[step];
}

/** A value for every step, in their order. */
export function eachStep<V>(valueOf: (spec: StepSpec<Step>) => V): Readonly<Record<Step, V>> {
  return Object.fromEntries(SPECS.map((spec) => [spec.name, valueOf(spec)])) as Record<Step, V>;
}

/** The keys that any provider of a step may take. */
export function kindsOf({ keys, moreKeys = [] }: StepSpec): readonly KeyKind[] {
  return [...keys, ...moreKeys];
}

/** The key of a step that takes only one, as a definition writes it; null for a step that takes several. */
export function onlyKeyOf(step: Step): ProviderKey | null {
  const [only, ...others] = kindsOf(specOf(step));
  return only === undefined || others.length > 0 ? null : KEYS[only].inDefinitions;
}

const BY_NAME = eachStep((spec) => spec);
