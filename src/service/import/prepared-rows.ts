/** Rows of a file made ready for the store, in batches that are cheap to hand from thread to thread: plain values, and terms as numbers. Pure. */
import { timeOf } from '../field-types.ts';
import type { SparseRecord } from '../records.ts';
import { TermCollector, type TermTable } from '../search/term-table.ts';
import type { MailEvent } from '../store/delivery-writer.ts';
import { TextCollector, type Texts } from '../store/kept-texts.ts';
import { observedAt } from '../store/observed-at.ts';
import { prepareCompany, type PreparedCompany } from '../store/prepared-company.ts';
import { preparePerson, type PreparedPerson } from '../store/prepared-person.ts';
import type { Refusal } from '../store/put.ts';
import { companyOf, contactOf } from './contact.ts';
import { mailEventOf } from './mail-event.ts';
import type { ImportKind } from './names.ts';
import type { RowReader, RowValues } from './row-values.ts';
import { UnknownNames, type OnUnknown, type UnknownName } from './unknown-names.ts';

/** One row as its file's reader hands it over: the cells of a table, or a JSON object. */
export interface ImportRow {
  /** From 1. */
  readonly line: number;
  readonly cells: readonly string[] | null;
  /** It is taken over: what is made of it may be this very object. */
  readonly object: Record<string, unknown> | null;
  /** Why it could not be read, or null. */
  readonly bad: string | null;
  /** It has text beyond the header's last column, which is in none of `cells`. */
  readonly surplus: boolean;
  /** Characters of it as it came, or about as many. */
  readonly size: number;
}

export type PreparedRow = { readonly line: number } & (
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** It says nothing that is worth keeping. */
  | { readonly kind: 'skipped' }
  | { readonly kind: 'contact'; readonly person: PreparedPerson; readonly company: PreparedCompany | null }
  /** Of an enriched output in which nobody is. */
  | { readonly kind: 'employer'; readonly company: PreparedCompany }
  | { readonly kind: 'company'; readonly company: PreparedCompany }
  | { readonly kind: 'signal'; readonly signal: SparseRecord }
  | { readonly kind: 'delivery'; readonly event: MailEvent }
);

/** Rows in the order of the file. */
export interface PreparedBatch {
  readonly rows: readonly PreparedRow[];
  /** Lines of those that had text beyond the header's last column. */
  readonly surplus: readonly number[];
  /** Names that are no field, and how many values were under each. */
  readonly unknown: readonly UnknownName[];
  /** What the people of these rows are found by, and the companies. */
  readonly personTerms: TermTable;
  readonly companyTerms: TermTable;
  /** Of these rows' people and companies. */
  readonly texts: Texts;
  /** About how much it holds, in characters. */
  readonly size: number;
}

export interface PrepareOptions {
  readonly kind: ImportKind;
  /** Of a table; empty for JSON lines. */
  readonly header: readonly string[];
  readonly reader: RowReader;
  /** Of when a row is that does not say so itself, epoch milliseconds. Null: nobody said; records are of now, and deliveries must say it. */
  readonly asOfMs: number | null;
  readonly nowMs: number;
  /** Whether what only new records need is made ready, too. */
  readonly expectsNews: () => boolean;
}

/** Makes rows ready, one after the other, for batches of them. */
export interface RowPreparer {
  /** How many rows have been added since a batch was last taken, and about how many characters they have. */
  readonly count: number;
  readonly size: number;
  add(row: ImportRow): void;
  /** The rows that were added since the last time. */
  take(): PreparedBatch;
}

/** Makes one file's rows ready: each as soon as it was read, so that what was read of it can be forgotten while it is young. */
export function rowPreparer(options: PrepareOptions): RowPreparer {
  const [people, companies, texts] = [new TermCollector(), new TermCollector(), new TextCollector()];
  const unknown = new UnknownNames();
  const prepare = preparer(options, people, companies, texts, unknown);
  let rows: PreparedRow[] = [];
  let surplus: number[] = [];
  let size = 0;
  let areNews = true;
  return {
    get count() {
      return rows.length;
    },
    get size() {
      return size;
    },
    add(row) {
      if (rows.length === 0) areNews = options.expectsNews();
      size += row.size;
      if (row.surplus) surplus.push(row.line);
      rows.push(prepare(row, areNews));
    },
    take() {
      const batch: PreparedBatch = { rows, surplus, unknown: unknown.take(), personTerms: people.take(), companyTerms: companies.take(), texts: texts.take(), size };
      [rows, surplus, size] = [[], [], 0];
      return batch;
    },
  };
}

/** Makes one row ready. `areNews`: with what only new records need. */
function preparer({ kind, header, reader, asOfMs, nowMs }: PrepareOptions, people: TermCollector, companies: TermCollector, texts: TextCollector, unknown: UnknownNames): (row: ImportRow, areNews: boolean) => PreparedRow {
  const momentOf = (record: SparseRecord): number => Math.min(observedAt(record) ?? asOfMs ?? nowMs, nowMs);
  const companyIn = (record: SparseRecord, atMs: number, areNews: boolean): PreparedCompany | Refusal => prepareCompany(record, atMs, { terms: areNews ? companies : null, texts });
  const contact = (line: number, row: RowValues, areNews: boolean): PreparedRow => {
    const found = contactOf(row);
    if (found === null) return { line, kind: 'skipped' };
    const learnt = timeOf(found.learntAt);
    const learntMs = learnt === undefined ? null : Math.min(Date.parse(learnt), nowMs);
    const atMs = momentOf(found.person);
    const companyMs = found.company !== null && Object.hasOwn(found.company, 'updated_at') ? momentOf(found.company) : atMs;
    const person = found.isFound ? preparePerson(found.person, { atMs, learntMs, isEmployerDerived: found.isEmployerDerived }, { terms: areNews ? people : null, texts }) : null;
    const isSomebody = person !== null && !('code' in person);
    const given = found.company === null || (!isSomebody && !row.isOutput) ? null : companyIn(found.company, companyMs, areNews);
    const company = given === null || 'code' in given ? null : given;
    if (isSomebody) return { line, kind: 'contact', person, company };
    // What was paid for is kept without anybody who works there.
    if (company !== null) return { line, kind: 'employer', company };
    return person === null ? { line, kind: 'skipped' } : { line, kind: 'refused', refusal: person };
  };
  return (row, areNews) => {
    const { line, bad } = row;
    if (bad !== null) return { line, kind: 'refused', refusal: { code: 'bad_row', detail: bad } };
    // What else a mail service says of a mail is no record's.
    const read = readRow(row, header, reader, kind === 'deliveries' ? undefined : (name) => unknown.add(name, line));
    switch (kind) {
      case 'contacts':
        return contact(line, read, areNews);
      case 'companies': {
        const record = read.isOutput ? (contactOf(read)?.company ?? null) : (companyOf(read.values) ?? read.values);
        if (record === null) return { line, kind: 'skipped' };
        const company = companyIn(record, momentOf(record), areNews);
        return 'code' in company ? { line, kind: 'refused', refusal: company } : { line, kind: 'company', company };
      }
      case 'signals':
        return { line, kind: 'signal', signal: read.values };
      case 'deliveries': {
        const event = mailEventOf(read, asOfMs);
        if (event === null) return { line, kind: 'skipped' };
        return 'code' in event ? { line, kind: 'refused', refusal: event } : { line, kind: 'delivery', event: { ...event, atMs: Math.min(event.atMs, nowMs) } };
      }
      default:
        return kind satisfies never;
    }
  };
}

function readRow(row: ImportRow, header: readonly string[], reader: RowReader, onUnknown: OnUnknown | undefined): RowValues {
  if (row.cells !== null) return reader.readCells(row.cells, header, onUnknown);
  return reader.readObject(row.object ?? {}, onUnknown);
}
