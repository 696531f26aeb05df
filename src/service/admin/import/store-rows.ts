/** Stages 4 to 6 of an import row: matches, merges and stores rows, in transactions short enough for a running service. */
import { setTimeout } from 'node:timers/promises';
import { transaction } from '../../../sqlite/transaction.ts';
import { IndexWriter } from '../../store/index/index-writer.ts';
import { normalisedCompanyWriter } from '../../store/rows/company-writer.ts';
import { deliveryWriter } from '../../store/rows/delivery-writer.ts';
import { normalisedPersonWriter } from '../../store/rows/person-writer.ts';
import type { UpsertResult } from '../../store/rows/upsert-result.ts';
import { signalWriter } from '../../store/rows/signal-writer.ts';
import { sourceId } from '../../store/rows/report-sources.ts';
import type { Store } from '../../store/store.ts';
import { ImportCounts, type Rejection } from './import-counts.ts';
import { EmployerWriter } from './employer-writer.ts';
import { BoundedTransaction } from './bounded-transaction.ts';
import type { NormalisedBatch, NormalisedRow } from './normalise-rows.ts';

/** A file with its normalised rows. */
export interface NormalisedFile {
  readonly name: string;
  /** The header of a table; empty for JSON lines. */
  readonly header: readonly string[];
  readonly batches: AsyncIterable<NormalisedBatch>;
  /** The read part of the file, 0 to 1; null when it is unknown. */
  readonly share?: () => number | null;
  /** Called after each transaction with whether most of its rows were new. The next rows are likely to be the same. */
  readonly expect: (isNew: boolean) => void;
}

interface ImportOptions {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly onReject: (rejections: readonly Rejection[]) => void;
  /** Called after each batch. @param rows the number of rows of this file so far */
  readonly onRows?: (rows: number) => void;
}

/**
 * Stores the rows of a file. A bad row is reported, and does not affect the others. Rows that were stored before an error or an abort
 * stay; importing the file again changes nothing.
 */
export async function storeRows(store: Store, file: NormalisedFile, options: ImportOptions): Promise<ImportCounts> {
  const counts = new ImportCounts();
  const writer = new BatchWriter(store, file, options, counts);
  const batches = file.batches[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value: batch } = await writer.meanwhile(batches.next());
      if (done === true) break;
      counts.countSurplus(batch.surplus);
      counts.countUnknown(batch.unknown);
      await writer.write(batch);
      options.onRows?.(counts.read);
      options.signal.throwIfAborted();
    }
  } finally {
    try {
      // Also the rows that were read before reading the file failed.
      writer.commit();
    } finally {
      await batches.return?.();
    }
  }
  return counts;
}

/** Writes rows. A transaction takes as many as its time allows. */
class BatchWriter {
  readonly #file: NormalisedFile;
  readonly #options: ImportOptions;
  readonly #counts: ImportCounts;
  readonly #index: IndexWriter;
  readonly #transaction: BoundedTransaction;
  readonly #employers: EmployerWriter;
  readonly #store: (row: NormalisedRow, batch: NormalisedBatch) => Pick<Rejection, 'code' | 'detail'> | null;
  /** Rejections of the open transaction. */
  #rejections: Rejection[] = [];
  #before = { read: 0, added: 0 };

  constructor(store: Store, file: NormalisedFile, options: ImportOptions, counts: ImportCounts) {
    this.#file = file;
    this.#options = options;
    this.#counts = counts;
    this.#index = new IndexWriter(store);
    this.#transaction = new BoundedTransaction(store);
    const source = transaction(store, () => sourceId(store, file.name));
    const putCompany = normalisedCompanyWriter(store, this.#index);
    this.#employers = new EmployerWriter(store, putCompany, source);
    this.#store = rowWriter(
      recordWriter(store, this.#index, { source, nowMs: options.nowMs, putCompany, employers: this.#employers, counts }),
      counts,
    );
  }

  /** Waits for the next batch. If the transaction's time is over first, it commits, so that other writers can go on. */
  async meanwhile<T>(next: Promise<T>): Promise<T> {
    if (!this.#transaction.isOpen) return next;
    const stop = new AbortController();
    try {
      if (await Promise.race([next.then(() => false), setTimeout(Math.max(1, this.#transaction.leftMs), true, { signal: stop.signal })]))
        this.commit();
    } finally {
      stop.abort();
    }
    return next;
  }

  async write(batch: NormalisedBatch): Promise<void> {
    for (let at = 0; at < batch.rows.length;) {
      if (!this.#transaction.isOpen) await this.#transaction.begin();
      at = this.#writeFrom(at, batch);
      if (this.#transaction.leftMs <= 0) this.commit();
    }
  }

  /** Ends the transaction, if one is open. */
  commit(): void {
    if (!this.#transaction.isOpen) return;
    this.#rollbackOnError(() => this.#transaction.commit(() => this.#finish()));
    const [rejections, { read, added }] = [this.#rejections, this.#before];
    this.#rejections = [];
    this.#before = { read: this.#counts.read, added: this.#counts.added };
    if (rejections.length > 0) this.#options.onReject(rejections);
    this.#file.expect(2 * (this.#counts.added - added) >= this.#counts.read - read);
  }

  /** The last statements of a transaction. */
  #finish(): void {
    this.#employers.flush();
    this.#index.flush();
  }

  /** Writes at least one row from index `at` on, until the time is over; returns the index of the next row. */
  #writeFrom(at: number, batch: NormalisedBatch): number {
    let next = at;
    this.#rollbackOnError(() => {
      do {
        const row = batch.rows[next++] as NormalisedRow;
        const rejected = this.#store(row, batch);
        if (rejected !== null) this.#rejections.push({ file: this.#file.name, line: row.line, ...rejected });
      } while (next < batch.rows.length && this.#transaction.leftMs > 0);
    });
    return next;
  }

  /** The import ends after a rollback: caches of the writers hold rows that are not stored. */
  #rollbackOnError(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#transaction.rollback();
      throw error;
    }
  }
}

/** Stores one row and counts it; returns the rejection, or null. */
function rowWriter(
  storeRow: (row: StorableRow, batch: NormalisedBatch) => UpsertResult | null,
  counts: ImportCounts,
): (row: NormalisedRow, batch: NormalisedBatch) => Pick<Rejection, 'code' | 'detail'> | null {
  return (row, batch) => {
    counts.read++;
    if (row.kind === 'skipped') {
      counts.skipped++;
      return null;
    }
    if (row.kind === 'refused') return counts.reject(row.refusal);
    const put = storeRow(row, batch);
    if (put === null) {
      counts.skipped++;
      return null;
    }
    if (put.kind === 'rejected') return counts.reject(put);
    counts.count(put, row.line);
    return null;
  };
}

type StorableRow = Exclude<NormalisedRow, { readonly kind: 'skipped' | 'refused' }>;

interface Writers {
  readonly source: number;
  readonly nowMs: number;
  readonly putCompany: ReturnType<typeof normalisedCompanyWriter>;
  readonly employers: EmployerWriter;
  readonly counts: ImportCounts;
}

/** Stores one row; returns null for a row without a person, whose company is counted separately. */
function recordWriter(
  store: Store,
  index: IndexWriter,
  { source, nowMs, putCompany, employers, counts }: Writers,
): (row: StorableRow, batch: NormalisedBatch) => UpsertResult | null {
  const putPerson = normalisedPersonWriter(store, index);
  const putSignal = signalWriter(store, index);
  const putDelivery = deliveryWriter(store);
  return (row, batch) => {
    const { personTerms, companyTerms, texts } = batch;
    switch (row.kind) {
      case 'contact': {
        const put = putPerson(row.person, source, { terms: personTerms, texts }, row.company);
        // The person asked to be removed: the row is rejected, with its company.
        if (put.kind === 'put' && row.company !== null) counts.countCompany(employers.put(row.company, batch), row.line);
        return put;
      }
      case 'employer': {
        const put = employers.put(row.company, batch);
        if (put.kind === 'rejected') return put;
        counts.countCompany(put, row.line);
        return null;
      }
      case 'company':
        return putCompany(row.company, source, { terms: companyTerms, texts });
      case 'signal':
        return putSignal(row.signal, nowMs);
      case 'delivery':
        return putDelivery(row.event);
      default:
        return row satisfies never;
    }
  };
}
