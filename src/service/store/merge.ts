/** Two reports of one record made into one: field by field the newer wins, and where each comes from is kept. Pure. */
import type { SparseRecord } from '../records.ts';
import { isEmpty } from '../values.ts';

/** Who said it (a row of `sources`), and of when it is (epoch milliseconds). */
export interface Provenance {
  readonly source: number;
  readonly atMs: number;
}

/** A record as it is kept. Most fields come from one report, so only the others carry their own provenance. */
export interface KeptRecord {
  readonly doc: SparseRecord;
  readonly base: Provenance;
  readonly others: Readonly<Record<string, readonly [source: number, atMs: number]>>;
}

/** Never overwritten: what a record is named by must not change under those who know it by that name. */
const FIRST_WINS: readonly string[] = ['id'];

/** `same`: nothing to write. `times`: it says what is known, more recently. */
export interface Merged {
  readonly record: KeptRecord;
  readonly change: 'new' | 'fields' | 'times' | 'same';
}

/**
 * `kept` with what `incoming` knows better. A field is taken when it is new or not older than the one that is there; what is
 * empty says nothing and replaces nothing. So the order in which reports of different times arrive makes no difference.
 */
export function merge(kept: KeptRecord | null, incoming: SparseRecord, from: Provenance): Merged {
  if (kept === null) return { record: { doc: known(incoming), base: from, others: {} }, change: 'new' };
  const doc: Record<string, unknown> = { ...kept.doc };
  const stamps: Record<string, readonly [number, number]> = {};
  for (const field of Object.keys(doc)) stamps[field] = stampOf(kept, field);
  let change: Merged['change'] = 'same';
  for (const [field, value] of Object.entries(incoming)) {
    const before = stamps[field];
    if (isEmpty(value) || (before !== undefined && (FIRST_WINS.includes(field) || before[1] > from.atMs))) continue;
    if (before !== undefined && same(doc[field], value)) {
      if (before[1] === from.atMs) continue;
      if (change === 'same') change = 'times';
    } else {
      change = 'fields';
    }
    doc[field] = value;
    stamps[field] = [from.source, from.atMs];
  }
  if (change === 'same') return { record: kept, change };
  const base = from.atMs >= kept.base.atMs ? from : kept.base;
  const others = Object.fromEntries(Object.entries(stamps).filter(([, [source, atMs]]) => source !== base.source || atMs !== base.atMs));
  return { record: { doc, base, others }, change };
}

/** Where a field of a kept record comes from. */
export function stampOf(kept: KeptRecord, field: string): readonly [source: number, atMs: number] {
  return kept.others[field] ?? [kept.base.source, kept.base.atMs];
}

function known(record: SparseRecord): SparseRecord {
  const kept: Record<string, unknown> = {};
  for (const field in record) if (!isEmpty(record[field])) kept[field] = record[field];
  return kept;
}

function same(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
}
