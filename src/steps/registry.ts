/** All steps. To add one, write its file and add it here. Pure. */
import { COMPANY } from './company.ts';
import { ENRICH } from './enrich.ts';
import { KEYS, type KeyKind, type ProviderKey } from './keys.ts';
import { ownStep } from './own-step.ts';
import { REVEAL } from './reveal.ts';
import type { StepSpec } from './step-spec.ts';
import { VERIFY } from './verify.ts';

const ALL = [ENRICH, VERIFY, COMPANY, REVEAL] as const;

/** The declarations, each with its own name and options. */
export type Declared = (typeof ALL)[number];
export type StandardStep = Declared['name'];
/** The name of a step: a standard one, or one that a definition of a provider declares. */
export type Step = StandardStep | (string & NonNullable<unknown>);
/** A value for some steps, by their names. */
export type ByStep<V> = Readonly<Record<string, V>>;

/** The standard steps, in the order in which a record passes them where a job does not say. */
export const SPECS: readonly StepSpec<StandardStep>[] = ALL;

export const STEPS: readonly StandardStep[] = SPECS.map(({ name }) => name);

/** The steps by their rank: the first that has a key for a record decides its outcome. */
export const BY_RANK: readonly StepSpec<StandardStep>[] = SPECS.toSorted(byRank);

/** Sorts declarations: those that may decide an outcome first. */
export function byRank({ rank: one }: Pick<StepSpec, 'rank'>, { rank: other }: Pick<StepSpec, 'rank'>): number {
  return (one ?? Infinity) - (other ?? Infinity);
}

/** The declaration of a step. That of a custom step lacks what definitions declare: a job has the whole one, see `CompiledJob.ownSteps`. */
export function specOf(step: Step): StepSpec {
  let spec = BY_NAME.get(step);
  if (spec === undefined) BY_NAME.set(step, (spec = ownStep(step)));
  return spec;
}

export function isStandard(step: Step): step is StandardStep {
  return specOf(step).isOwn !== true;
}

/** A value for every standard step, in their order. */
export function eachStep<V>(valueOf: (spec: StepSpec<StandardStep>) => V): Readonly<Record<StandardStep, V>> {
  return Object.fromEntries(SPECS.map((spec) => [spec.name, valueOf(spec)])) as Record<StandardStep, V>;
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

/** Custom steps are added as they are met. */
const BY_NAME = new Map<Step, StepSpec>(SPECS.map((spec) => [spec.name, spec]));
