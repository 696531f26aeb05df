/** Steps that no file of this folder declares: a definition of a provider does. */
import type { FieldTable, FieldType } from '../client/answer-fields.ts';
import { KINDS, namesOf } from './keys.ts';
import type { StepSpec } from './step-spec.ts';

/** Behind the standard steps that decide, before the verdicts. */
const RANK = 4;
const NEVER = /(?!)/;

/** The part of a step that the definitions of its providers declare. */
export interface OwnColumns {
  /** Types by field, in the order of the columns; empty where no definition declares any. */
  readonly columns: Readonly<Record<string, FieldType>>;
  /** The step may decide the outcome of a record. */
  readonly decides: boolean;
}

/** The names of a custom step. */
export const OWN_STEP_NAME = /^[a-z][a-z0-9_]{0,39}$/;
/** Names that stand for something else in a row, a path or a job. */
export const RESERVED_NAMES: readonly string[] = ['input', 'result', 'source', 'total', 'constructor'];

/** A custom step looks a record up by any key that its provider takes, and its answers are records. */
export function ownStep(name: string, { columns, decides }: OwnColumns = { columns: {}, decides: false }): StepSpec {
  const fields: FieldTable = new Map(Object.entries(columns));
  return {
    name,
    description: 'A step that definitions of providers declare.',
    words: NEVER,
    isUsual: false,
    isOwn: true,
    keys: KINDS,
    usual: namesOf(KINDS),
    rank: decides ? RANK : null,
    options: [],
    fields,
    columns: [...fields.keys()],
    verdicts: null,
  };
}
