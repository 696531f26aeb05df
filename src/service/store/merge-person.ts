/** Two reports of one person made into one. Pure. */
import type { SparseRecord } from '../records.ts';
import { merge, stampOf, type KeptRecord, type Merged, type Provenance } from './merge.ts';

/** What a verdict on the address says. */
const OF_THE_ADDRESS: readonly string[] = ['email_status', 'email_confidence', 'email_verified_at'];
/** The greatest first. */
const CHANGES: readonly Merged['change'][] = ['new', 'fields', 'times', 'same'];

/**
 * As `merge`, and a name holds until first and last name are both known from later: then they make it (`nameOf`). One of them alone replaces nothing of it.
 * What is kept follows from the fields and their times alone, so that the order in which reports arrive makes no difference.
 * @param learntMs of when the status of the address is, epoch milliseconds; null: of when the report is
 */
export function mergePerson(kept: KeptRecord | null, incoming: SparseRecord, from: Provenance, learntMs: number | null = null): Merged {
  if (learntMs === null) return mergeReport(kept, incoming, from);
  const report = mergeReport(kept, Object.fromEntries(Object.entries(incoming).filter(([field]) => !OF_THE_ADDRESS.includes(field))), from);
  const verdict = merge(report.record, Object.fromEntries(Object.entries(incoming).filter(([field]) => OF_THE_ADDRESS.includes(field))), { source: from.source, atMs: learntMs });
  return CHANGES.indexOf(report.change) < CHANGES.indexOf(verdict.change) ? { ...verdict, change: report.change } : verdict;
}

function mergeReport(kept: KeptRecord | null, incoming: SparseRecord, from: Provenance): Merged {
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
