/** Compiles the conditions of a job, and refuses those that no record could fulfil as meant. */
import { ConfigError, UsageError } from '../../util/errors.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { originName, placeOf, show, type Origin } from '../origin.ts';
import { checkPath } from '../result-fields.ts';
import { STEPS, type Step } from '../../steps/registry.ts';
import type { StepSpec } from '../../steps/step-spec.ts';
import { pathsIn, type PathOperand, type WrittenCondition } from './condition.ts';
import { parseCondition } from './parse-condition.ts';
import { ConditionFault } from './tokens.ts';

interface ConditionPlace {
  /** Where the text stands, such as `verify.when`. */
  readonly name: string;
  readonly origin: Origin | null;
  /** The steps of the job, in their order, and the declarations of its custom ones. */
  readonly steps: readonly Step[];
  readonly ownSteps: readonly StepSpec[];
  /** The step whose results are not there yet; null for a condition on the input alone. */
  readonly step: Step | null;
}

/** @throws ConfigError 78, UsageError 64 with the column of what is wrong */
export function compileWritten(text: string, place: ConditionPlace): WrittenCondition {
  try {
    const root = parseCondition(text);
    for (const path of pathsIn(root)) checkOperand(path, place);
    return { text, root };
  } catch (error) {
    if (!(error instanceof ConditionFault)) throw error;
    throw refusalOf(error, text, place);
  }
}

function checkOperand({ path, at }: PathOperand, { steps, ownSteps, step }: ConditionPlace): void {
  const [root = ''] = path;
  if (root === 'input') return;
  const before = step === null ? [] : steps.slice(0, steps.indexOf(step));
  if (before.some((one) => one === root)) return checkField(path, at, ownSteps);
  const known = ['input', ...before];
  if (![...STEPS, ...steps].some((one) => one === root))
    throw new ConditionFault(`there is no ${show(root)}${didYouMean(nearest(root, known))} It may be ${known.join(' or ')}`, at);
  if (steps.some((one) => one === root)) throw new ConditionFault(`${root} is not done before: it may be ${known.join(' or ')}`, at);
  throw new ConditionFault(`the job has no step ${root}: it may be ${known.join(' or ')}`, at);
}

function checkField(path: readonly string[], at: number, ownSteps: readonly StepSpec[]): void {
  const { field, suggestion } = checkPath(path.join('.'), ownSteps);
  if (field !== 'misspelt' && field !== 'no_path') return;
  throw new ConditionFault(`${path.join('.')} is no field of an answer${didYouMean(suggestion)}`, at);
}

function refusalOf({ message, at }: ConditionFault, text: string, { name, origin }: ConditionPlace): UsageError | ConfigError {
  const named = origin === null || origin.layer === 'file' ? name : originName(origin);
  const said = `${named}: ${message}, at column ${at} of ${show(text)}${origin === null ? '' : placeOf(origin)}`;
  const options = { hint: 'Such as: enrich.company.employees >= 50 and not input."Do not contact" = \'yes\'.' };
  return origin?.layer === 'flag' ? new UsageError('bad_condition', said, options) : new ConfigError('bad_condition', said, options);
}
