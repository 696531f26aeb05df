/** Tells a misspelt path of an answer from a field that only one service has. Pure. */
import { nearest } from '../util/nearest.ts';
import { COMPANY_FIELDS } from '../client/answer-fields.ts';
import { SPECS, STEPS, type Step } from '../steps/registry.ts';
import type { StepSpec } from '../steps/step-spec.ts';

/** Fields by the path of their object. An object that is missing here may hold any field. */
export const RESULT_FIELDS: Readonly<Record<string, readonly string[]>> = {
  result: ['outcome', 'error', 'did_you_mean'],
  ...Object.fromEntries(
    SPECS.flatMap(({ name, fields, objects = {} }) => [
      [name, [...fields.keys()]],
      ...(fields.get('company') === 'company' ? [[`${name}.company`, [...COMPANY_FIELDS.keys()]]] : []),
      ...Object.entries(objects).map(([object, own]) => [`${name}.${object}`, own]),
    ]),
  ),
};
const ROOTS = ['result', ...STEPS];
const PATHS = Object.entries(RESULT_FIELDS).flatMap(([object, fields]) => fields.map((field) => `${object}.${field}`));

interface FieldCheck {
  readonly step: Step | null;
  /** `unknown`: the specification has neither the field nor a similar name. */
  readonly field: 'known' | 'misspelt' | 'unknown' | 'no_path';
  /** The suggested path. */
  readonly suggestion: string | null;
}

/** @param path such as `enrich.company.name`; not `input.<column>`. @param ownSteps the custom steps of the job */
export function checkPath(path: string, ownSteps: readonly StepSpec[] = []): FieldCheck {
  const parts = path.split('.');
  const [root = ''] = parts;
  const own = ownSteps.find(({ name }) => name === root);
  const step = own?.name ?? STEPS.find((name) => name === root) ?? null;
  if (parts.length < 2 || (own === undefined && !ROOTS.includes(root)) || !/^[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_]+)+$/.test(path))
    return { step: null, field: 'no_path', suggestion: suggest(path, ownSteps) };
  // Which provider the answer is from: see `Waterfall`.
  if (step !== null && parts[1] === 'source') return { step, field: 'known', suggestion: null };
  let object = root;
  for (const [index, part] of parts.slice(1).entries()) {
    const fields = object === own?.name ? [...own.fields.keys()] : RESULT_FIELDS[object];
    if (fields === undefined || (own !== undefined && fields.length === 0)) break;
    if (!fields.includes(part)) {
      const near = nearest(part, fields);
      const rest = parts.slice(index + 2);
      if (near !== null) return { step, field: 'misspelt', suggestion: [object, near, ...rest].join('.') };
      return { step, field: root === 'result' ? 'no_path' : 'unknown', suggestion: null };
    }
    object = `${object}.${part}`;
  }
  return { step, field: 'known', suggestion: null };
}

/** The nearest complete path; else a path that ends in the given field. */
function suggest(path: string, ownSteps: readonly StepSpec[]): string | null {
  const own = ownSteps.flatMap(({ name, fields }) => [...fields.keys()].map((field) => `${name}.${field}`));
  const near = nearest(path, [...own, ...PATHS]);
  if (near !== null) return near;
  const last = path.slice(path.lastIndexOf('.') + 1);
  const field = nearest(
    last,
    PATHS.map((known) => known.slice(known.lastIndexOf('.') + 1)),
  );
  return field === null ? null : (PATHS.find((known) => known.endsWith(`.${field}`)) ?? null);
}
