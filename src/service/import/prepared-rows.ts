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

/** One row as its file's reader hands it over: the cells of a table, or a JSON object. */
export interface ImportRow {
  /** From 1. */
  readonly line: number;
  readonly cells: readonly string[] | null;
  readonly object: SparseRecord | null;
  /** Why it could not be read, or null. */
  readonly bad: string | null;
  /** Characters of it as it came, or about as many. */
  readonly size: number;
}

export type PreparedRow = { readonly line: number } & (
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** It says nothing that is worth keeping. */
  | { readonly kind: 'skipped' }
  | { readonly kind: 'contact'; readonly person: PreparedPerson; readonly company: PreparedCompany | null }
  | { readonly kind: 'company'; readonly company: PreparedCompany }
  | { readonly kind: 'signal'; readonly signal: SparseRecord }
  | { readonly kind: 'delivery'; readonly event: MailEvent }
);

/** Rows in the order of the file. */
export interface PreparedBatch {
  readonly rows: readonly PreparedRow[];
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

type Ready = PreparedRow extends infer Row ? (Row extends PreparedRow ? Omit<Row, 'line'> : never) : never;

/** Makes batches of one file's rows ready. */
export function rowPreparer({ kind, header, reader, asOfMs, nowMs, expectsNews }: PrepareOptions): (rows: readonly ImportRow[]) => PreparedBatch {
  const [people, companies, texts] = [new TermCollector(), new TermCollector(), new TextCollector()];
  const momentOf = (record: SparseRecord): number => Math.min(observedAt(record) ?? asOfMs ?? nowMs, nowMs);
  let areNews = true;
  const companyIn = (record: SparseRecord, atMs: number): PreparedCompany | Refusal => prepareCompany(record, atMs, { terms: areNews ? companies : null, texts });
  const contact = (row: RowValues): Ready => {
    const found = contactOf(row);
    if (found === null) return { kind: 'skipped' };
    const learnt = timeOf(found.learntAt);
    const learntMs = learnt === undefined ? null : Math.min(Date.parse(learnt), nowMs);
    const person = preparePerson(found.person, { atMs: momentOf(found.person), learntMs }, { terms: areNews ? people : null, texts });
    if ('code' in person) return { kind: 'refused', refusal: person };
    const company = found.company === null ? null : companyIn(found.company, momentOf({ ...found.person, ...found.company }));
    return { kind: 'contact', person, company: company === null || 'code' in company ? null : company };
  };
  const prepare = (row: RowValues): Ready => {
    switch (kind) {
      case 'contacts':
        return contact(row);
      case 'companies': {
        const record = companyOf(row.values) ?? row.values;
        const company = companyIn(record, momentOf(record));
        return 'code' in company ? { kind: 'refused', refusal: company } : { kind: 'company', company };
      }
      case 'signals':
        return { kind: 'signal', signal: row.values };
      case 'deliveries': {
        const event = mailEventOf(row, asOfMs);
        if (event === null) return { kind: 'skipped' };
        return 'code' in event ? { kind: 'refused', refusal: event } : { kind: 'delivery', event: { ...event, atMs: Math.min(event.atMs, nowMs) } };
      }
      default:
        return kind satisfies never;
    }
  };
  return (rows) => {
    areNews = expectsNews();
    const ready = rows.map((row): PreparedRow => {
      const made: Ready = row.bad === null ? prepare(readRow(row, header, reader)) : { kind: 'refused', refusal: { code: 'bad_row', detail: row.bad } };
      return { line: row.line, ...made };
    });
    return { rows: ready, personTerms: people.take(), companyTerms: companies.take(), texts: texts.take(), size: rows.reduce((sum, { size }) => sum + size, 0) };
  };
}

function readRow(row: ImportRow, header: readonly string[], reader: RowReader): RowValues {
  if (row.cells !== null) return reader.readCells(row.cells, header);
  return reader.readObject(row.object ?? {});
}
