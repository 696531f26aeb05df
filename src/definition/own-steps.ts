/** The custom steps of a job: their names, and the columns that the definitions of its providers declare. Pure. */
import type { CompiledProvider } from '../providers/compiled-provider.ts';
import { ownStep, type OwnColumns } from '../steps/own-step.ts';
import { isStandard, specOf, STEPS, type ByStep, type Step } from '../steps/registry.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import { ConfigError } from '../util/errors.ts';
import { wordList } from '../util/display.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { originName, placeOf, refusal, show, type Origin } from './origin.ts';

/** A provider of the job: its name and its definition. */
interface Declaring {
  readonly name: string;
  readonly definition: Pick<CompiledProvider, 'operations'>;
}

/**
 * Checks the names of the steps, which are done in the order that the job gives.
 * @throws ConfigError, UsageError for a step that no provider has, and for one that is named twice
 */
export function checkSteps(steps: readonly Step[], providers: readonly Declaring[], origin: Origin | null): void {
  if (origin === null) return;
  const declared = providers.flatMap(({ definition }) => Object.keys(definition.operations));
  const known = [...new Set([...STEPS, ...declared])];
  const unknown = steps.find((step) => !known.includes(step));
  const refuse = (problem: string, hint: string): Error => refusal(origin, 'bad_value', `${originName(origin)}: ${problem}`, hint);
  if (unknown !== undefined)
    throw refuse(
      `there is no step ${show(unknown)}${didYouMean(nearest(unknown, known))}`,
      `There are ${wordList(known)}. A custom step is an operation of that name in the definition of a provider of the job.`,
    );
  const twice = steps.find((step, place) => steps.indexOf(step) !== place);
  if (twice !== undefined) throw refuse(`the step ${twice} is named twice`, 'Each step is done once: keep one of them.');
}

/**
 * The declarations of the custom steps.
 * @param askedFor the providers that a step asks, in order
 * @throws ConfigError where two providers of a step declare other columns, and where no step of the job decides an outcome
 */
export function compileOwnSteps(
  steps: readonly Step[],
  askedFor: (step: Step) => readonly Declaring[],
  origin: Origin | null,
): readonly StepSpec[] {
  const own = steps.filter((step) => !isStandard(step)).map((step) => compileOwnStep(step, askedFor(step), origin));
  const decides = steps.some((step) => (own.find(({ name }) => name === step) ?? specOf(step)).rank !== null);
  const [first] = own;
  if (!decides && first !== undefined)
    throw refusedAt(
      origin,
      `no step of this job decides the outcome of a row: ${own.map(({ name }) => name).join(', ')}`,
      `Write decides: true in operations.${first.name} of the definition, or add a standard step.`,
    );
  return own;
}

function compileOwnStep(step: Step, providers: readonly Declaring[], origin: Origin | null): StepSpec {
  const declaring = providers.flatMap(({ name, definition }) => {
    const own = definition.operations[step]?.own;
    return own === undefined || Object.keys(own.columns).length === 0 ? [] : [{ name, own }];
  });
  const [first, ...others] = declaring;
  const other = others.find(({ own }) => textOf(own) !== textOf(first?.own));
  if (first !== undefined && other !== undefined)
    throw refusedAt(
      origin,
      `${first.name} and ${other.name} declare other columns for the step ${step}: ${textOf(first.own)} and ${textOf(other.own)}`,
      'Declare the same in both definitions, or in one of them alone.',
    );
  const decides = providers.some(({ definition }) => definition.operations[step]?.own?.decides === true);
  const spec = ownStep(step, { columns: first?.own.columns ?? {}, decides });
  const mapped = providers.flatMap(({ definition }) => definition.operations[step]?.fields ?? []);
  return { ...spec, fields: new Map([...mapped.map((field) => [field, 'any'] as const), ...spec.fields]) };
}

function textOf(own: OwnColumns | undefined): string {
  return Object.entries(own?.columns ?? {})
    .map(([field, type]) => `${field} (${type})`)
    .join(', ');
}

function refusedAt(origin: Origin | null, message: string, hint: string): Error {
  return new ConfigError('bad_value', `${message}${origin === null ? '' : placeOf(origin)}`, { hint });
}

/** A value for each custom step of a job, by its name. */
export function eachOwnStep<V>(ownSteps: readonly StepSpec[], valueOf: (spec: StepSpec) => V): ByStep<V> {
  return Object.fromEntries(ownSteps.map((spec) => [spec.name, valueOf(spec)]));
}
