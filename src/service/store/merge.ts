/** Two reports of one record made into one: field by field the newer wins, and where each comes from is kept. Pure. */
import type { SparseRecord } from '../records.ts';
import { isEmpty } from '../values.ts';

/** Who said it (a row of `sources`), and of when it is (epoch milliseconds). */
export interface Provenance {
  readonly source: number;
  readonly atMs: number;
}

/** The provenance of a field. */
export type Stamp = readonly [source: number, atMs: number];

/** A record as it is kept. Most fields come from one report, so only the others carry their own provenance. */
export interface KeptRecord {
  readonly doc: SparseRecord;
  readonly base: Provenance;
  /** With a value where the field is not in the record, for another contradicts it (`merge-company.ts`). */
  readonly others: Readonly<Record<string, readonly [source: number, atMs: number, contradicted?: unknown]>>;
  readonly aside?: Aside;
}

/** What is kept beside a person's fields and never answered: what reports to come have to be merged with. */
export interface Aside {
  readonly employer?: EmployerAside;
  /** Former addresses, and the verdict on each. */
  readonly emails?: Readonly<Record<string, KeptRecord | null>>;
  /** Former mobile numbers. */
  readonly mobiles?: readonly string[];
  /** Former profiles and other ids (`other-keys.ts`). */
  readonly keys?: readonly string[];
  /** What reports called them (`names-told.ts`), where that is not just their name. */
  readonly names?: readonly string[];
}

/** What one report says of an employer. */
export interface EmployerTold {
  /** The domain, or the name where there is none. */
  readonly is: string;
  /** Beside a domain. */
  readonly name?: string;
  readonly stamp: Stamp;
}

/** That the employer who is shown is derived from the address, or what the newest report of the other kind says, by domain or by name alone. */
export interface EmployerAside {
  readonly isDerived?: true;
  readonly domain?: EmployerTold;
  readonly name?: EmployerTold;
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
  // Most of what comes again is known, and then nothing is copied.
  if (!Object.keys(incoming).some((field) => isNews(kept, field, incoming[field], from.atMs))) return { record: kept, change: 'same' };
  const doc: Record<string, unknown> = { ...kept.doc };
  const stamps: Record<string, Stamp> = {};
  for (const field of Object.keys(doc)) stamps[field] = stampOf(kept, field);
  let change: Merged['change'] = 'times';
  for (const [field, value] of Object.entries(incoming)) {
    if (!isNews(kept, field, value, from.atMs)) continue;
    if (stamps[field] === undefined || !same(doc[field], value)) change = 'fields';
    doc[field] = value;
    stamps[field] = [from.source, from.atMs];
  }
  const base = from.atMs >= kept.base.atMs ? from : kept.base;
  const others = Object.fromEntries(Object.entries(stamps).filter(([, [source, atMs]]) => source !== base.source || atMs !== base.atMs));
  return { record: { doc, base, others }, change };
}

/** Where a field of a kept record comes from. */
export function stampOf(kept: KeptRecord, field: string): Stamp {
  const [source, atMs] = kept.others[field] ?? [kept.base.source, kept.base.atMs];
  return [source, atMs];
}

/** A record whose fields have these stamps: it is of when the newest of them is. @param before what it was of, which stays where another source is of the same time */
export function recordOf(doc: SparseRecord, stamp: (field: string) => Stamp, before: Provenance): KeptRecord {
  const fields = Object.keys(doc);
  // The id is of who came first.
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

/** Whether a field of what comes in is kept, be it only for its time. */
export function isNews(kept: KeptRecord, field: string, value: unknown, atMs: number): boolean {
  if (isEmpty(value)) return false;
  if (!Object.hasOwn(kept.doc, field)) return true;
  const [, beforeMs] = stampOf(kept, field);
  return !FIRST_WINS.includes(field) && beforeMs <= atMs && (beforeMs < atMs || !same(kept.doc[field], value));
}

function known(record: SparseRecord): SparseRecord {
  const kept: Record<string, unknown> = {};
  for (const field in record) if (!isEmpty(record[field])) kept[field] = record[field];
  return kept;
}

/** Whether two values are written alike. */
export function same(one: unknown, other: unknown): boolean {
  return one === other || (typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other));
}
