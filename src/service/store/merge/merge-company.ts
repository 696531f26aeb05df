/** Merges two reports of one company. Pure. */
import { sizeRange, usdRange, type Span } from '../../records/parse-range.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { merge, isSameJson, stampOf, type MergedRecord, type MergeResult, type Provenance } from './merge.ts';

/** Groups of fields that state the same fact, each with a parser to a range of numbers; null if it states none. */
const SAME_FACT: readonly Readonly<Record<string, (value: unknown) => Span | null>>[] = [
  { employees: sizeRange, employees_range: sizeRange },
  { revenue: revenueSpan, revenue_usd: usdRange, revenue_range: usdRange },
];

/** An amount that is not in dollars, or names no currency, cannot be compared: it contradicts every amount in dollars. */
const NOT_COMPARABLE: Span = { least: Infinity, most: -Infinity };

function revenueSpan(value: unknown): Span {
  return usdRange(value) ?? NOT_COMPARABLE;
}

/**
 * As `merge`, with one more rule: a newer field removes an older one that contradicts it, such as `employees_range` beside `employees`. The
 * removed value stays in the merge state and returns if its contradiction is replaced. So the order of reports does not count.
 */
export function mergeCompany(stored: MergedRecord, incoming: SparseRecord, from: Provenance): MergeResult {
  const whole = withContradicted(stored);
  const merged = merge(whole, incoming, from);
  if (merged.change === 'same') return { record: stored, change: 'same' };
  // Two reports have the same time: the later arrival wins, and values it does not contradict stay.
  const isTaken = (field: string): boolean => Object.hasOwn(incoming, field) && stampOf(merged.record, field)[1] === from.atMs;
  const rank = (field: string): number => (isTaken(field) ? 2 : Object.hasOwn(stored.doc, field) ? 1 : 0);
  const record = withoutContradicted(merged.record, rank);
  if (record === merged.record && whole === stored) return merged;
  return { record, change: sameFields(record.doc, stored.doc) ? 'times' : 'fields' };
}

/** With the contradicted values of the merge state. */
function withContradicted(stored: MergedRecord): MergedRecord {
  const remembered = Object.entries(stored.others).flatMap(([field, [, , value]]) =>
    value === undefined ? [] : [[field, value] as const],
  );
  if (remembered.length === 0) return stored;
  const others = Object.fromEntries(Object.entries(stored.others).map(([field, [source, atMs]]) => [field, [source, atMs] as const]));
  return { ...stored, doc: { ...stored.doc, ...Object.fromEntries(remembered) }, others };
}

function withoutContradicted(record: MergedRecord, rank: (field: string) => number): MergedRecord {
  const gone = SAME_FACT.flatMap((readers) => contradicted(record, readers, rank));
  if (gone.length === 0) return record;
  const others = { ...record.others };
  for (const field of gone) others[field] = [...stampOf(record, field), record.doc[field]];
  return { ...record, doc: Object.fromEntries(Object.entries(record.doc).filter(([field]) => !gone.includes(field))), others };
}

/** The fields that a newer, uncontradicted field contradicts. */
function contradicted(
  record: MergedRecord,
  readers: Readonly<Record<string, (value: unknown) => Span | null>>,
  rank: (field: string) => number,
): string[] {
  const fields = Object.keys(readers).flatMap((field) => {
    const span = Object.hasOwn(record.doc, field) ? (readers[field]?.(record.doc[field]) ?? null) : null;
    return span === null ? [] : [{ field, span, atMs: stampOf(record, field)[1], rank: rank(field) }];
  });
  fields.sort((one, other) => other.atMs - one.atMs || other.rank - one.rank);
  const holding: typeof fields = [];
  for (const one of fields) {
    const isGone = holding.some(
      (other) => (other.atMs > one.atMs || other.rank > one.rank) && (other.span.least > one.span.most || other.span.most < one.span.least),
    );
    if (!isGone) holding.push(one);
  }
  return fields.filter((one) => !holding.includes(one)).map(({ field }) => field);
}

function sameFields(one: SparseRecord, other: SparseRecord): boolean {
  const fields = Object.keys(one);
  return (
    fields.length === Object.keys(other).length &&
    fields.every((field) => Object.hasOwn(other, field) && isSameJson(one[field], other[field]))
  );
}
