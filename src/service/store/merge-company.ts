/** Two reports of one company made into one. Pure. */
import { sizeRange, usdRange, type Span } from '../spans.ts';
import type { SparseRecord } from '../records.ts';
import { merge, same, stampOf, type KeptRecord, type Merged, type Provenance } from './merge.ts';

/** Fields that say one thing: how they are read, as a span of numbers; null: as none. */
const OF_ONE_THING: readonly Readonly<Record<string, (value: unknown) => Span | null>>[] = [
  { employees: sizeRange, employees_range: sizeRange },
  { revenue: usdRange, revenue_usd: usdRange, revenue_range: usdRange },
];

/**
 * As `merge`, and what an older report says of the size or the revenue goes where a newer one contradicts it in another field of the same. It is remembered beside the record: should what contradicts it
 * be replaced, it is there again, so that the order in which reports arrive makes no difference.
 */
export function mergeCompany(kept: KeptRecord, incoming: SparseRecord, from: Provenance): Merged {
  const whole = withContradicted(kept);
  const merged = merge(whole, incoming, from);
  if (merged.change === 'same') return { record: kept, change: 'same' };
  // Of two reports of one time the one that comes last is taken, and what was taken before stays.
  const isTaken = (field: string): boolean => Object.hasOwn(incoming, field) && stampOf(merged.record, field)[1] === from.atMs;
  const rank = (field: string): number => (isTaken(field) ? 2 : Object.hasOwn(kept.doc, field) ? 1 : 0);
  const record = withoutContradicted(merged.record, rank);
  if (record === merged.record && whole === kept) return merged;
  return { record, change: sameFields(record.doc, kept.doc) ? 'times' : 'fields' };
}

/** With what is remembered beside it. */
function withContradicted(kept: KeptRecord): KeptRecord {
  const remembered = Object.entries(kept.others).flatMap(([field, [, , value]]) => (value === undefined ? [] : [[field, value] as const]));
  if (remembered.length === 0) return kept;
  const others = Object.fromEntries(Object.entries(kept.others).map(([field, [source, atMs]]) => [field, [source, atMs] as const]));
  return { ...kept, doc: { ...kept.doc, ...Object.fromEntries(remembered) }, others };
}

function withoutContradicted(record: KeptRecord, rank: (field: string) => number): KeptRecord {
  const gone = OF_ONE_THING.flatMap((readers) => contradicted(record, readers, rank));
  if (gone.length === 0) return record;
  const others = { ...record.others };
  for (const field of gone) others[field] = [...stampOf(record, field), record.doc[field]];
  return { ...record, doc: Object.fromEntries(Object.entries(record.doc).filter(([field]) => !gone.includes(field))), others };
}

/** Those that a newer one contradicts which is not contradicted itself. */
function contradicted(record: KeptRecord, readers: Readonly<Record<string, (value: unknown) => Span | null>>, rank: (field: string) => number): string[] {
  const fields = Object.keys(readers).flatMap((field) => {
    const span = Object.hasOwn(record.doc, field) ? (readers[field]?.(record.doc[field]) ?? null) : null;
    return span === null ? [] : [{ field, span, atMs: stampOf(record, field)[1], rank: rank(field) }];
  });
  fields.sort((one, other) => other.atMs - one.atMs || other.rank - one.rank);
  const holding: typeof fields = [];
  for (const one of fields) {
    const isGone = holding.some((other) => (other.atMs > one.atMs || other.rank > one.rank) && (other.span.least > one.span.most || other.span.most < one.span.least));
    if (!isGone) holding.push(one);
  }
  return fields.filter((one) => !holding.includes(one)).map(({ field }) => field);
}

function sameFields(one: SparseRecord, other: SparseRecord): boolean {
  const fields = Object.keys(one);
  return fields.length === Object.keys(other).length && fields.every((field) => Object.hasOwn(other, field) && same(one[field], other[field]));
}
