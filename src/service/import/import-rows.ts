/** Rows of a file into the store, some thousands a transaction, so that a running service is kept waiting for moments only. */
import { setTimeout } from 'node:timers/promises';
import { timeOf } from '../field-types.ts';
import type { SparseRecord } from '../records.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { companyWriter, type Put } from '../store/company-writer.ts';
import { deliveryWriter } from '../store/delivery-writer.ts';
import type { Provenance } from '../store/merge.ts';
import { observedAt } from '../store/observed-at.ts';
import { personWriter } from '../store/person-writer.ts';
import { signalWriter } from '../store/signal-writer.ts';
import { sourceNumber } from '../store/sources.ts';
import { transaction } from '../../sqlite/transaction.ts';
import type { Store } from '../store/store.ts';
import { companyOf, contactOf } from './contact.ts';
import { ImportCounts, type Rejection } from './counts.ts';
import { mailEventOf } from './mail-event.ts';
import type { ImportKind } from './names.ts';
import type { RowReader, RowValues } from './row-values.ts';

/** One row as its file's reader hands it over: the cells of a table, or a JSON object's text. */
export interface ImportRow {
  /** From 1. */
  readonly line: number;
  readonly cells: readonly string[] | null;
  readonly json: string | null;
  /** Why it could not be read, or null. */
  readonly bad: string | null;
}

export interface ImportFile {
  readonly name: string;
  /** Of a table; empty for JSON lines. */
  readonly header: readonly string[];
  readonly batches: AsyncIterable<readonly ImportRow[]>;
}

export interface ImportOptions {
  readonly kind: ImportKind;
  readonly reader: RowReader;
  /** Of when a row is that does not say so itself, epoch milliseconds. Null: nobody said; records are of now, and deliveries must say it. */
  readonly asOfMs: number | null;
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly onReject: (rejections: readonly Rejection[]) => void;
}

/** Rows of one transaction: few enough that nobody waits long for it, enough that its end costs little. */
const ROWS_AT_ONCE = 8_192;
/** On a slow machine a transaction ends sooner, after so many milliseconds, and then leaves the store to others for a moment: answers that cost something wait for it. */
const HELD_MS = 200;
const LEFT_MS = 8;

/**
 * Imports a file. Every row stands for itself: a bad one is reported and the others are kept. What was imported before an error or
 * an abort stays, and importing the file again does no harm.
 */
export async function importRows(store: Store, file: ImportFile, options: ImportOptions): Promise<ImportCounts> {
  const counts = new ImportCounts();
  const index = new IndexWriter(store);
  const put = rowWriter(store, index, file, options, counts);
  let waiting: ImportRow[] = [];
  const flush = async (): Promise<void> => {
    // Reading takes half of the time, and nobody has to wait for that.
    const read = waiting.map((row) => ({ line: row.line, found: readRow(row, file, options.reader) }));
    waiting = [];
    const rejections: Rejection[] = [];
    for (let at = 0; at < read.length; ) {
      if (at > 0) await setTimeout(LEFT_MS);
      at = transaction(store, () => {
        const endMs = performance.now() + HELD_MS;
        let next = at;
        for (const { line, found } of read.slice(at)) {
          const refusal = put(found);
          if (refusal !== null) rejections.push({ file: file.name, line, ...refusal });
          next++;
          if (performance.now() >= endMs) break;
        }
        index.flush();
        return next;
      });
    }
    if (rejections.length > 0) options.onReject(rejections);
  };
  for await (const batch of file.batches) {
    options.signal.throwIfAborted();
    waiting.push(...batch);
    if (waiting.length >= ROWS_AT_ONCE) await flush();
  }
  if (waiting.length > 0) await flush();
  return counts;
}

type Refusal = Pick<Rejection, 'code' | 'detail'>;

/** Puts one row; returns why not, where it could not. */
function rowWriter(store: Store, index: IndexWriter, file: ImportFile, options: ImportOptions, counts: ImportCounts): (found: RowValues | Refusal) => Refusal | null {
  const putRecord = recordWriter(store, index, file, options, counts);
  return (found) => {
    counts.read++;
    if ('code' in found) return counts.reject(found);
    const put = putRecord(found);
    if (put === null) {
      counts.skipped++;
      return null;
    }
    if (put.kind === 'rejected') return counts.reject(put);
    counts.count(put);
    return null;
  };
}

function readRow(row: ImportRow, { header }: ImportFile, reader: RowReader): RowValues | Refusal {
  if (row.bad !== null) return { code: 'bad_row', detail: row.bad };
  if (row.cells !== null) return reader.readCells(row.cells, header);
  return reader.readObject(JSON.parse(row.json ?? '{}') as SparseRecord);
}

/** Puts what a row says; null when it says nothing that is worth keeping. */
function recordWriter(store: Store, index: IndexWriter, file: ImportFile, options: ImportOptions, counts: ImportCounts): (row: RowValues) => Put | null {
  const source = transaction(store, () => sourceNumber(store, file.name));
  const provenance = (record: SparseRecord): Provenance => ({ source, atMs: Math.min(observedAt(record) ?? options.asOfMs ?? options.nowMs, options.nowMs) });
  switch (options.kind) {
    case 'companies': {
      const putCompany = companyWriter(store, index);
      return ({ values }) => {
        const record = companyOf(values) ?? values;
        return putCompany(record, provenance(record));
      };
    }
    case 'contacts': {
      const putCompany = companyWriter(store, index);
      const putPerson = personWriter(store, index);
      return (row) => {
        const contact = contactOf(row);
        if (contact === null) return null;
        const learntMs = Date.parse(timeOf(contact.learntAt) ?? '');
        const put = putPerson(contact.person, provenance(contact.person), Number.isNaN(learntMs) ? null : Math.min(learntMs, options.nowMs));
        // The company of somebody who asked to be removed is nobody's secret, but the row is not kept.
        if (put.kind === 'put' && contact.company !== null) counts.company(putCompany(contact.company, provenance({ ...contact.person, ...contact.company })));
        return put;
      };
    }
    case 'signals': {
      const putSignal = signalWriter(store, index);
      return ({ values }) => putSignal(values, options.nowMs);
    }
    case 'deliveries': {
      const putDelivery = deliveryWriter(store);
      return (row) => {
        const event = mailEventOf(row, options.asOfMs);
        if (event === null) return null;
        return 'code' in event ? { kind: 'rejected', ...event } : putDelivery({ ...event, atMs: Math.min(event.atMs, options.nowMs) });
      };
    }
    default:
      return options.kind satisfies never;
  }
}
