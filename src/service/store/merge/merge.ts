/** Merges two reports of one record: of each field the newer value wins, and its source is stored. Pure. */
import type { SparseRecord } from '../../records/whole-record.ts';
import { isEmpty } from '../../http/values.ts';

/** The source of a report (`sources.id`) and its time (epoch milliseconds). */
export interface Provenance {
  readonly source: number;
  readonly atMs: number;
}

/** The source and time of a field. */
export type Stamp = readonly [source: number, atMs: number];

/** A merged record. Most fields come from one report, so only the others have their own stamp. */
export interface MergedRecord {
  readonly doc: SparseRecord;
  readonly base: Provenance;
  /** With a value: another field contradicts this one, so the record does not show it (`merge-company.ts`). */
  readonly others: Readonly<Record<string, readonly [source: number, atMs: number, contradicted?: unknown]>>;
  readonly mergeState?: MergeState;
}

/** Stored with a person and never part of an answer: what later reports are merged with. */
export interface MergeState {
  readonly employer?: EmployerMergeState;
  /** Former addresses, each with its verdict. */
  readonly emails?: Readonly<Record<string, MergedRecord | null>>;
  /** Former mobile numbers. */
  readonly mobiles?: readonly string[];
  /** Former profiles and further ids (`other-keys.ts`). */
  readonly keys?: readonly string[];
  /** All reported names (`reported-names.ts`), unless the record's own name is the only one. */
  readonly names?: readonly string[];
}

/** The employer of one report. */
export interface ReportedEmployer {
  /** The domain, or the name if there is no domain. */
  readonly is: string;
  /** The name beside a domain. */
  readonly name?: string;
  readonly stamp: Stamp;
}

/** Either the shown employer is derived from the address, or this is the newest report of the other kind (by domain, or by name alone). */
export interface EmployerMergeState {
  readonly isDerived?: true;
  readonly domain?: ReportedEmployer;
  readonly name?: ReportedEmployer;
}

/** Never overwritten, because clients know the record by it. */
const FIRST_WINS: readonly string[] = ['id'];

/** `same`: nothing to write. `times`: only sources or times changed. */
export interface MergeResult {
  readonly record: MergedRecord;
  readonly change: 'new' | 'fields' | 'times' | 'same';
}

/**
 * Adds the newer values of `incoming` to `stored`. A value wins if it is not older than the stored one; an empty value replaces nothing.
 * So the order in which reports of different times arrive does not count.
 */
export function merge(stored: MergedRecord | null, incoming: SparseRecord, from: Provenance): MergeResult {
  if (stored === null) return { record: { doc: known(incoming), base: from, others: {} }, change: 'new' };
  // Most repeated reports change nothing, and then nothing is copied.
  if (!Object.keys(incoming).some((field) => isAccepted(stored, field, incoming[field], from.atMs)))
    return { record: stored, change: 'same' };
  const doc: Record<string, unknown> = { ...stored.doc };
  const stamps: Record<string, Stamp> = {};
  for (const field of Object.keys(doc)) stamps[field] = stampOf(stored, field);
  let change: MergeResult['change'] = 'times';
  for (const [field, value] of Object.entries(incoming)) {
    if (!isAccepted(stored, field, value, from.atMs)) continue;
    if (stamps[field] === undefined || !isSameJson(doc[field], value)) change = 'fields';
    doc[field] = value;
    stamps[field] = [from.source, from.atMs];
  }
  const base = from.atMs >= stored.base.atMs ? from : stored.base;
  const others = Object.fromEntries(Object.entries(stamps).filter(([, [source, atMs]]) => source !== base.source || atMs !== base.atMs));
  return { record: { doc, base, others }, change };
}

/** The stamp of a field. */
export function stampOf(stored: MergedRecord, field: string): Stamp {
  const [source, atMs] = stored.others[field] ?? [stored.base.source, stored.base.atMs];
  return [source, atMs];
}

/**
 * A record of fields with these stamps; its own provenance is the newest of them.
 * @param before its provenance so far, which wins over another source of the same time
 */
export function recordOf(doc: SparseRecord, stamp: (field: string) => Stamp, before: Provenance): MergedRecord {
  const fields = Object.keys(doc);
  // The id keeps the stamp of the first report, so it does not count.
  const telling = fields.some((field) => !FIRST_WINS.includes(field)) ? fields.filter((field) => !FIRST_WINS.includes(field)) : fields;
  let newest: Stamp | null = null;
  for (const field of telling) {
    const of = stamp(field);
    if (newest === null || of[1] > newest[1] || (of[1] === newest[1] && of[0] === before.source)) newest = of;
  }
  const [source, atMs] = newest ?? [before.source, before.atMs];
  const others: Record<string, Stamp> = {};
  for (const field of fields) {
    const of = stamp(field);
    if (of[0] !== source || of[1] !== atMs) others[field] = of;
  }
  return { doc, base: { source, atMs }, others };
}

/** Whether a reported value is stored, be it only for its newer time. */
export function isAccepted(stored: MergedRecord, field: string, value: unknown, atMs: number): boolean {
  if (isEmpty(value)) return false;
  if (!Object.hasOwn(stored.doc, field)) return true;
  const [, beforeMs] = stampOf(stored, field);
  return !FIRST_WINS.includes(field) && beforeMs <= atMs && (beforeMs < atMs || !isSameJson(stored.doc[field], value));
}

function known(record: SparseRecord): SparseRecord {
  const stored: Record<string, unknown> = {};
  for (const field in record) if (!isEmpty(record[field])) stored[field] = record[field];
  return stored;
}

/** Whether two values are equal as JSON. */
export function isSameJson(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
}
