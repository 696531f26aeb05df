/** Two reports of one person made into one. Pure. */
import type { SparseRecord } from '../records.ts';
import { merge, stampOf, type KeptRecord, type Merged, type Provenance } from './merge.ts';

/**
 * As `merge`, and a name holds until first and last name are both known from later: then they make it (`nameOf`). One of them alone replaces nothing of it.
 * What is kept follows from the fields and their times alone, so that the order in which reports arrive makes no difference.
 */
export function mergePerson(kept: KeptRecord | null, incoming: SparseRecord, from: Provenance): Merged {
  const merged = merge(kept, kept !== null && isOutgrown(kept, from.atMs) ? without(incoming, 'name') : incoming, from);
  const { record, change } = merged;
  if (record.doc['name'] === undefined || !isOutgrown(record, stampOf(record, 'name')[1])) return merged;
  return { record: { ...record, doc: without(record.doc, 'name'), others: without(record.others, 'name') }, change: change === 'times' ? 'fields' : change };
}

/** Whether both parts of the name are of after `nameAtMs`. */
function isOutgrown(record: KeptRecord, nameAtMs: number): boolean {
  return ['first_name', 'last_name'].every((part) => record.doc[part] !== undefined && stampOf(record, part)[1] > nameAtMs);
}

function without<T>(record: Readonly<Record<string, T>>, field: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== field));
}
