/** The conditions of a job's steps, over the cells of a record and the results so far. */
import { pathsIn, type PathOperand, type WrittenCondition } from '../definition/condition/condition.ts';
import type { InputManifest, InputRecord } from '../formats/input-record.ts';
import type { Step, ByStep } from '../steps/registry.ts';
import { cellReader } from './cell-reader.ts';
import { compileCondition, type ConditionValue, type Truth } from './holds.ts';

type AnyRecord = Readonly<Record<string, unknown>>;

/** A record on its way: its cells, and the record that each earlier step found: null when it found none, undefined when that is unknown. */
export interface RecordOnItsWay {
  readonly record: InputRecord;
  readonly recordOf: (step: string) => AnyRecord | null | undefined;
}

/** By step; absent for a step without a condition. */
export type StepConditions = Readonly<Partial<Record<Step, (on: RecordOnItsWay) => Truth>>>;

export function stepConditions(conditions: ByStep<WrittenCondition>, manifest: InputManifest): StepConditions {
  return Object.fromEntries(Object.entries(conditions).map(([step, { root }]) => [step, compileCondition(root, readerIn(manifest))]));
}

/** The steps whose results the conditions read. */
export function stepsRead(conditions: ByStep<WrittenCondition>): ReadonlySet<string> {
  return new Set(Object.values(conditions).flatMap(({ root }) => pathsIn(root).map(({ path: [first = ''] }) => first)));
}

function readerIn(manifest: InputManifest): (operand: PathOperand) => (on: RecordOnItsWay) => ConditionValue {
  return ({ path: [root = '', ...fields] }) => {
    if (root !== 'input') return ({ recordOf }) => fieldOf(recordOf(root), fields);
    const cell = cellReader(manifest, fields.join('.'));
    return ({ record }) => cell(record);
  };
}

function fieldOf(record: AnyRecord | null | undefined, fields: readonly string[]): ConditionValue {
  if (record === undefined) return undefined;
  let value: unknown = record;
  for (const field of fields) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, field)) return null;
    value = (value as AnyRecord)[field];
  }
  return Array.isArray(value) ? value.map(textOf) : value === null || value === undefined ? null : textOf(value);
}

function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}
