/** All steps. To add one, write its file and add it here. Pure. */
import { COMPANY } from './company.ts';
import { ENRICH } from './enrich.ts';
import { REVEAL } from './reveal.ts';
import type { StepSpec } from './step-spec.ts';
import { VERIFY } from './verify.ts';

const ALL = [ENRICH, VERIFY, COMPANY, REVEAL] as const;

export type Step = (typeof ALL)[number]['name'];

/** In the order in which a record passes them. */
export const SPECS: readonly StepSpec<Step>[] = ALL;

export const STEPS: readonly Step[] = SPECS.map(({ name }) => name);

/** The declaration of a step. */
export function specOf(step: Step): StepSpec<Step> {
  return BY_NAME[step];
}

/** A value for every step, in their order. */
export function eachStep<V>(valueOf: (spec: StepSpec<Step>) => V): Readonly<Record<Step, V>> {
  return Object.fromEntries(SPECS.map((spec) => [spec.name, valueOf(spec)])) as Record<Step, V>;
}

const BY_NAME = eachStep((spec) => spec);
