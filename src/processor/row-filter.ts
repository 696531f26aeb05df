/** Applies `input.where` to records. Pure. */
import { pathsIn, type WrittenCondition } from '../definition/condition/condition.ts';
import { comparable, type Conditions } from '../definition/conditions.ts';
import type { InputManifest, InputRecord } from '../formats/input-record.ts';
import { isBlank } from '../verification/clean-keys.ts';
import { cellReader } from './cell-reader.ts';
import { compileCondition } from './holds.ts';

/** True when the job looks a record up; false when it skips it. */
export type RowFilter = (record: InputRecord) => boolean;

/** The mapping, or the text, that `input.where` has; null for none. */
type Where = Conditions | WrittenCondition | null;

export function rowFilter(manifest: InputManifest, where: Where): RowFilter {
  if (where === null) return () => true;
  if (isWritten(where)) {
    const test = compileCondition<InputRecord>(where.root, ({ path: [, ...name] }) => cellReader(manifest, name.join('.')));
    return (record) => test(record) === true;
  }
  const wanted = Object.entries(where).map(([name, condition]) => ({ ...condition, cell: cellReader(manifest, name) }));
  return (record) =>
    wanted.every(({ isNot, values, cell }) => {
      const text = cell(record);
      return values.includes(isBlank(text) ? '' : comparable(text)) !== isNot;
    });
}

/** The names of the columns that `input.where` reads. */
export function columnsRead(where: Where): readonly string[] {
  if (where === null) return [];
  return isWritten(where) ? pathsIn(where.root).map(({ path: [, ...name] }) => name.join('.')) : Object.keys(where);
}

/** A mapping has an object of its own for each column. */
function isWritten(where: Conditions | WrittenCondition): where is WrittenCondition {
  return typeof where['text'] === 'string';
}
