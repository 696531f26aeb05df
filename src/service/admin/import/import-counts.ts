/** The counts of an import's rows by outcome. */
import type { UpsertResult } from '../../store/rows/upsert-result.ts';
import type { UnknownName } from './unknown-names.ts';

/** How many paths are counted separately. Hostile files have new names in every row. */
const MAX_PATHS = 1_000;
const OTHERS = '*';

/** A row that was not stored, and why. */
export interface Rejection {
  readonly file: string;
  readonly line: number;
  readonly code: string;
  readonly detail: string;
}

export class ImportCounts {
  read = 0;
  added = 0;
  updated = 0;
  /** Rows that change only the time of a record. */
  unchanged = 0;
  /** Rows with nothing to store: enriched rows without a match or with only a company (`companies`), and mails that prove nothing. */
  skipped = 0;
  /** Rows with text beyond the header's last column, which is dropped, and the line of the first such row. */
  surplus = 0;
  firstSurplus: number | null = null;
  /** Rows that give a person the personal address of a person of another name, and the line of the first. */
  sharedAddresses = 0;
  firstShared: number | null = null;
  /** Rejected rows by code. */
  readonly rejected: Record<string, number> = {};
  readonly #dropped = new Map<string, number>();
  /** The line of the first dropped value, by field. */
  readonly firstDropped = new Map<string, number>();
  readonly companies = { added: 0, updated: 0 };

  /** Counts a stored row. @param line line number of the row, from 1 */
  count(put: Extract<UpsertResult, { kind: 'put' }>, line: number): void {
    if (put.change === 'new') this.added++;
    else if (put.change === 'fields') this.updated++;
    else this.unchanged++;
    for (const field of put.dropped) this.#drop(field, line);
    if (put.sharesAddress !== true) return;
    this.sharedAddresses++;
    this.firstShared ??= line;
  }

  /** Values that were dropped from stored rows, by the path of their field (`company.` for the company of a contact). */
  get dropped(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#dropped);
  }

  /** Counts values under names that are not a field. */
  countUnknown(names: readonly UnknownName[]): void {
    for (const { name, count, line } of names) this.#drop(name, line, count);
  }

  /** Counts the company of a contact's row. */
  countCompany(put: UpsertResult, line: number): void {
    if (put.kind === 'rejected') return;
    for (const field of put.dropped) this.#drop(`company.${field}`, line);
    if (put.change === 'new') this.companies.added++;
    else if (put.change === 'fields') this.companies.updated++;
  }

  /** Counts a rejected row; returns its code and detail. */
  reject({ code, detail }: Pick<Rejection, 'code' | 'detail'>): Pick<Rejection, 'code' | 'detail'> {
    this.rejected[code] = (this.rejected[code] ?? 0) + 1;
    return { code, detail };
  }

  /** Counts rows with surplus cells, by their lines in file order. */
  countSurplus(lines: readonly number[]): void {
    this.surplus += lines.length;
    this.firstSurplus ??= lines[0] ?? null;
  }

  /** Adds the counts of another file. */
  add(other: ImportCounts): void {
    for (const name of ['read', 'added', 'updated', 'unchanged', 'skipped', 'surplus'] as const) this[name] += other[name];
    for (const name of ['added', 'updated'] as const) this.companies[name] += other.companies[name];
    for (const [code, count] of Object.entries(other.rejected)) this.rejected[code] = (this.rejected[code] ?? 0) + count;
    for (const [path, count] of other.#dropped) this.#drop(path, other.firstDropped.get(path) ?? 0, count);
  }

  #drop(path: string, line: number, count = 1): void {
    const name = this.#dropped.has(path) || this.#dropped.size < MAX_PATHS ? path : OTHERS;
    this.#dropped.set(name, (this.#dropped.get(name) ?? 0) + count);
    if (!this.firstDropped.has(name)) this.firstDropped.set(name, line);
  }

  get rejectedRows(): number {
    return Object.values(this.rejected).reduce((sum, count) => sum + count, 0);
  }
}
