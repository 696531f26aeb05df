/** What became of the rows of an import. */
import type { Put } from '../store/put.ts';
import type { UnknownName } from './unknown-names.ts';

/** Different paths that are counted by themselves; hostile files have new names in every row. */
const MAX_PATHS = 1_000;
const OTHERS = '*';

/** A row that is not in the store, and why. */
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
  /** Nothing new, or only that it still holds. */
  unchanged = 0;
  /** Rows that say nothing: of an enriched output for which nothing was found, or a company alone (`companies`), of mails that tell nothing of their mailbox. */
  skipped = 0;
  /** Rows of a table with text beyond the header's last column, and the line of the first in its file; they are kept without it. */
  surplus = 0;
  firstSurplus: number | null = null;
  /** By code. */
  readonly rejected: Record<string, number> = {};
  readonly #dropped = new Map<string, number>();
  /** The line of the first in its file, by field. */
  readonly firstDropped = new Map<string, number>();
  readonly companies = { added: 0, updated: 0 };

  /** @param line of the row, from 1 */
  count(put: Extract<Put, { kind: 'put' }>, line: number): void {
    if (put.change === 'new') this.added++;
    else if (put.change === 'fields') this.updated++;
    else this.unchanged++;
    for (const field of put.dropped) this.#drop(field, line);
  }

  /** Values that are not kept while their rows are, by the path of their field (`company.` before that of a contact's company): none of their field, or of no field. */
  get dropped(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#dropped);
  }

  /** Counts values under names that are no field of these records. */
  unknown(names: readonly UnknownName[]): void {
    for (const { name, count, line } of names) this.#drop(name, line, count);
  }

  /** Counts the company of a contact's row. */
  company(put: Put, line: number): void {
    if (put.kind === 'rejected') return;
    for (const field of put.dropped) this.#drop(`company.${field}`, line);
    if (put.change === 'new') this.companies.added++;
    else if (put.change === 'fields') this.companies.updated++;
  }

  /** Counts a refused row; returns what is to be told of it. */
  reject({ code, detail }: Pick<Rejection, 'code' | 'detail'>): Pick<Rejection, 'code' | 'detail'> {
    this.rejected[code] = (this.rejected[code] ?? 0) + 1;
    return { code, detail };
  }

  /** Takes note of such rows, in the order of the file. */
  beyondHeader(lines: readonly number[]): void {
    this.surplus += lines.length;
    this.firstSurplus ??= lines[0] ?? null;
  }

  /** Adds those of another file. */
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
