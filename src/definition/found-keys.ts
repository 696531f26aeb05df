/** Keys that an earlier step of the job finds, as `by` names them. Pure. */
import { FOUND_FIELDS, foundKey, KEYS, namesOf } from '../steps/keys.ts';
import { kindsOf, specOf, type Step } from '../steps/registry.ts';
import type { StepSpec } from '../steps/step-spec.ts';
import { didYouMean, nearest } from '../util/nearest.ts';
import { checkPath } from './result-fields.ts';
import { show } from './origin.ts';

/** A name in `by` that a step cannot use. */
interface KeyFault {
  readonly problem: string;
  readonly hint: string;
}

/**
 * The first fault of the keys that a step uses; null for sound ones.
 * @param names as a job writes them in `by`. @param steps of the job, in their order
 */
export function faultOfKeys(step: Step, names: readonly string[], steps: readonly Step[], ownSteps: readonly StepSpec[]): KeyFault | null {
  const before = steps.slice(0, steps.indexOf(step));
  const kinds = kindsOf(specOf(step));
  const own = namesOf(kinds);
  const known = `It takes ${own.join(', ')}, and what an earlier step found, such as enrich.email.`;
  for (const name of names) {
    const [root = ''] = name.split('.');
    if (!name.includes('.')) {
      if (own.some((one) => one === name)) continue;
      return { problem: `${step} has no key ${show(name)}${didYouMean(nearest(name, own))}`, hint: known };
    }
    if (!before.includes(root))
      return {
        problem: `${name} cannot be known: ${steps.includes(root) ? `the step ${root} is not done before` : `the job has no step ${root}`}`,
        hint: before.length === 0 ? `${step} is the first step: order the steps otherwise.` : `Done before: ${before.join(', ')}.`,
      };
    const found = foundKey(name);
    if (found === null) return { problem: `${name} is no key`, hint: `The last word is one of ${FOUND_FIELDS.join(', ')}.` };
    if (!kinds.includes(found.kind)) return { problem: `${step} looks nothing up by ${KEYS[found.kind].inJobs}`, hint: known };
    const { field, suggestion } = checkPath(name, ownSteps);
    if (field === 'misspelt' || field === 'no_path')
      return { problem: `${name} is no field of an answer${didYouMean(suggestion)}`, hint: 'A field that is always empty finds nobody.' };
  }
  return null;
}
