/** The operation of a custom step: its name, its columns, and whether it decides an outcome. Pure. */
import type { FieldType } from '../../client/answer-fields.ts';
import { OWN_STEP_NAME, RESERVED_NAMES, type OwnColumns } from '../../steps/own-step.ts';
import { isStandard, STEPS } from '../../steps/registry.ts';
import type { ConfigError } from '../../util/errors.ts';
import { isObject } from '../../util/is-object.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { show } from '../../util/show.ts';
import { refusalAt, type DefinitionFile } from './definition-file.ts';
import type { COLUMN_TYPES } from './operation-schema.ts';
import type { RawOperation } from './schema.ts';
import type { Source } from './source.ts';

const TYPES: Readonly<Record<(typeof COLUMN_TYPES)[number], FieldType>> = {
  text: 'text',
  integer: 'number',
  number: 'decimal',
  boolean: 'boolean',
  list: 'texts',
  any: 'any',
};

/** The refusal of an operation whose name is almost that of a standard step: a misspelt one, unless columns say otherwise. Else null. */
export function misspeltStep(definition: DefinitionFile, name: string, written: unknown): ConfigError | null {
  const near = isStandard(name) ? null : nearest(name, STEPS);
  if (near === null || (isObject(written) && Object.hasOwn(written, 'columns'))) return null;
  return refusalAt(
    definition,
    `operations.${name}`,
    'unknown_key',
    `There is no key operations.${name}${didYouMean(`operations.${near}`)}`,
    `The standard steps: ${STEPS.join(', ')}. A custom step with a name so near declares its columns.`,
  );
}

/** @throws ConfigError for a name that no step can have, and for the built-in client */
export function checkOwnStep({ definition, raw: { client } }: Source, name: string): void {
  const key = `operations.${name}`;
  if (!OWN_STEP_NAME.test(name) || RESERVED_NAMES.includes(name))
    throw refusalAt(
      definition,
      key,
      'bad_value',
      `operations: ${show(name)} cannot name a step`,
      `A name has lower-case letters, digits and _, up to 40, and is not ${RESERVED_NAMES.join(', ')}. Such as phone or technologies.`,
    );
  if (client === 'built-in')
    throw refusalAt(
      definition,
      key,
      'bad_value',
      `${key}: the built-in client has the standard steps only`,
      'Write client: declared, or put the operation into a definition of its own.',
    );
}

/** The columns of a custom step, as its operation declares them. @throws ConfigError for a column that no mapping fills */
export function ownColumns({ definition }: Source, name: string, raw: RawOperation, fields: readonly string[]): OwnColumns {
  const columns = raw.columns ?? {};
  const lost = fields.length === 0 ? undefined : Object.keys(columns).find((column) => !fields.includes(column));
  if (lost !== undefined)
    throw refusalAt(
      definition,
      `operations.${name}.columns.${lost}`,
      'bad_value',
      `operations.${name}.columns names ${lost}, and its record has no such field${didYouMean(nearest(lost, fields))}`,
      `Its record has ${fields.join(', ')}.`,
    );
  return { columns: Object.fromEntries(Object.entries(columns).map(([field, type]) => [field, TYPES[type]])), decides: raw.decides };
}

/** @throws ConfigError for a standard step that declares what only a custom one may */
export function refuseOwnColumns({ definition }: Source, name: string, raw: RawOperation): void {
  const written = raw.columns !== undefined ? 'columns' : raw.decides ? 'decides' : null;
  if (written !== null)
    throw refusalAt(
      definition,
      `operations.${name}.${written}`,
      'bad_value',
      `operations.${name}.${written} is for a custom step, and ${name} is a standard one`,
      'Leave it out: the columns of a standard step are fixed.',
    );
}
