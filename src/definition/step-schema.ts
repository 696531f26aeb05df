/** The section `steps` of a job file: what is done to each record, and whom each step asks. */
import { z } from 'zod';
import { conditionText } from './conditions.ts';
import { BOUNDS } from './schema-key.ts';
import { OWN_STEP_NAME, RESERVED_NAMES } from '../steps/own-step.ts';
import { eachStep, isStandard, SPECS, STEPS, type ByStep, type Step } from '../steps/registry.ts';
import type { Verdicts } from '../steps/step-spec.ts';

const MOST_FROM = 16;
const MOST_STEPS = 16;
const MOST_UNTIL = 50;
const isDistinct = (names: readonly string[]): boolean => new Set(names).size === names.length;
const providerName = z.string().min(1).max(BOUNDS.column);

const from = z
  .union([providerName.transform((name) => [name]), z.array(providerName).min(1).max(MOST_FROM).refine(isDistinct)])
  .optional()
  .describe('The providers that are asked, one after the other. Default: all that have the step, in the order of providers.');

const when = conditionText
  .optional()
  .describe('A condition on the record and on what earlier steps found, such as enrich.company.employees >= 50: docs/conditions.md.');

const recordRule = z.strictObject({
  from,
  when,
  until: z
    .array(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}(?:\.[A-Za-z0-9_]{1,64}){0,3}$/))
    .max(MOST_UNTIL)
    .refine(isDistinct)
    .default([])
    .describe(
      'The next provider is asked while one of these fields is empty, such as email or company.name. Default: while there is no match.',
    ),
  fields: z
    .enum(['merge', 'whole'])
    .default('merge')
    .describe(
      'merge: later providers fill the empty fields of earlier ones. whole: the record of one provider, the first that has all of until, ' +
        'else the first that matched.',
    ),
});

const verdictRule = ({ words, settling }: Verdicts): z.ZodObject =>
  z.strictObject({
    from,
    when,
    until: z
      .array(z.enum(words))
      .min(1)
      .refine(isDistinct)
      .default([...settling])
      .describe('Verdicts that settle an address. The next provider is asked for any other one.'),
  });

/** A custom step has no section of its own in a job. */
const ownRule = recordRule.extend({
  by: z
    .array(z.string().min(1).max(BOUNDS.column))
    .min(1)
    .refine(isDistinct)
    .optional()
    .describe('The keys by which it looks a record up, such as [enrich.mobile, phone]. Default: those of each provider, in its order.'),
});

const STANDARD_RULES = eachStep(({ verdicts }): z.ZodObject => (verdicts === null ? recordRule : verdictRule(verdicts)));

/** The rule of a step, where a job writes more than its name; null for a text that names no step. */
export function ruleOf(step: string): z.ZodObject | null {
  return isStandard(step) ? STANDARD_RULES[step] : ownName.safeParse(step).success ? ownRule : null;
}

/** Whether a provider has a step of this name is known once the definitions are loaded. */
const ownName = z.string().regex(new RegExp(`^(?!(?:${[...STEPS, ...RESERVED_NAMES].join('|')})$)${OWN_STEP_NAME.source.slice(1)}`));

/** A step with its rule. */
type Ruled<R> = Readonly<Record<string, R>>;

const ruled = SPECS.map(
  ({ name }) =>
    z.strictObject({ [name]: STANDARD_RULES[name] }) as unknown as z.ZodType<Ruled<StepRule>, Ruled<z.input<typeof recordRule>>>,
);

export const stepList = z
  .array(z.union([z.enum(STEPS), ...ruled, ownName, z.record(ownName, ownRule).refine((one) => Object.keys(one).length === 1)]))
  .min(1)
  .max(MOST_STEPS);

/** A rule as a job writes it, with defaults. */
export interface StepRule {
  readonly when?: string | undefined;
  readonly from?: readonly string[] | undefined;
  readonly until: readonly string[];
  readonly fields?: 'merge' | 'whole';
  /** Only of a custom step. */
  readonly by?: readonly string[] | undefined;
}

/** The names of the steps, and the rules of those that have one. */
export function readSteps(written: z.output<typeof stepList>): {
  readonly names: readonly Step[];
  readonly rules: ByStep<StepRule>;
} {
  const names: Step[] = [];
  const rules: Record<string, StepRule> = {};
  for (const one of written) {
    if (typeof one === 'string') names.push(one);
    else
      for (const [name, rule] of Object.entries(one)) {
        names.push(name);
        rules[name] = rule;
      }
  }
  return { names, rules };
}
