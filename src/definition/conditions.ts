/** `input.where`: the conditions on a record's cells, as a job writes them and as the program reads them. */
import { z } from 'zod';
import { MOST } from './condition/parse-condition.ts';
import { BOUNDS } from './schema-key.ts';

/** A condition on one cell: the values that it may have, or with `isNot` those that it may not have. */
export interface Condition {
  readonly isNot: boolean;
  /** Trimmed, in lower case; '' stands for an empty cell. */
  readonly values: readonly string[];
}

/** By the name of a column or key. A record is looked up when all of them hold. */
export type Conditions = Readonly<Record<string, Condition>>;

/** See docs/conditions.md. */
export const conditionText = z.string().min(1).max(MOST.chars);

const value = z.union([z.string().max(BOUNDS.column), z.boolean(), z.number()]);
const values = z.union([value, z.array(value).min(1).max(BOUNDS.fields)]);

/** The condition of one column. */
const condition = z.union([values, z.strictObject({ not: values })]);

export const conditionsSchema = z
  .record(z.string().min(1).max(BOUNDS.column), condition)
  .refine((columns) => Object.keys(columns).length > 0 && Object.keys(columns).length <= BOUNDS.fields)
  .or(conditionText)
  .nullable()
  .default(null);

/** The word for a cell without text. */
const EMPTY = 'empty';

/** Null without conditions. */
export function compileConditions(written: Exclude<z.output<typeof conditionsSchema>, string>): Conditions | null {
  if (written === null) return null;
  return Object.fromEntries(
    Object.entries(written).map(([column, one]) => {
      const isNot = typeof one === 'object' && !Array.isArray(one);
      return [column, { isNot, values: [isNot ? one.not : one].flat().map(toComparable) }];
    }),
  );
}

function toComparable(one: string | boolean | number): string {
  const text = comparable(String(one));
  return text === EMPTY ? '' : text;
}

/** The form in which cells and values are compared. */
export function comparable(text: string): string {
  return text.trim().toLowerCase();
}
