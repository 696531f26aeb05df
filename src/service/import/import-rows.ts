/** Rows of a file into the store, some thousands a transaction, so that a running service is kept waiting for moments only. */
import { setTimeout } from 'node:timers/promises';
import { transaction } from '../../sqlite/transaction.ts';
import { IndexWriter } from '../search/index-writer.ts';
import { preparedCompanyWriter } from '../store/company-writer.ts';
import { deliveryWriter } from '../store/delivery-writer.ts';
import { preparedPersonWriter } from '../store/person-writer.ts';
import type { Put } from '../store/put.ts';
import { signalWriter } from '../store/signal-writer.ts';
import { sourceNumber } from '../store/sources.ts';
import type { Store } from '../store/store.ts';
import { ImportCounts, type Rejection } from './counts.ts';
import { HeldTransaction } from './held-transaction.ts';
import type { PreparedBatch, PreparedRow } from './prepared-rows.ts';

/** A file whose rows are made ready already. */
export interface PreparedFile {
  readonly name: string;
  /** Of a table; empty for JSON lines. */
  readonly header: readonly string[];
  readonly batches: AsyncIterable<PreparedBatch>;
  /** Is told whether most of the last rows were new: then those to come are likely to be. */
  readonly expect: (news: boolean) => void;
}

export interface ImportOptions {
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly signal: AbortSignal;
  readonly onReject: (rejections: readonly Rejection[]) => void;
}

/**
 * Imports a file. Every row stands for itself: a bad one is reported and the others are kept. What was imported before an error or
 * an abort stays, and importing the file again does no harm.
 */
export async function importRows(store: Store, file: PreparedFile, options: ImportOptions): Promise<ImportCounts> {
  const counts = new ImportCounts();
  const writer = new RowsWriter(store, file, options, counts);
  const batches = file.batches[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value: batch } = await writer.meanwhile(batches.next());
      if (done === true) break;
      counts.beyondHeader(batch.surplus);
      counts.unknown(batch.unknown);
      await writer.write(batch);
      options.signal.throwIfAborted();
    }
  } finally {
    try {
      // Also what was read before the file came to a bad end.
      writer.commit();
    } finally {
      await batches.return?.();
    }
  }
  return counts;
}

/** Writes rows, as many in one transaction as there is time for. */
class RowsWriter {
  readonly #file: PreparedFile;
  readonly #options: ImportOptions;
  readonly #counts: ImportCounts;
  readonly #index: IndexWriter;
  readonly #held: HeldTransaction;
  readonly #put: (row: PreparedRow, batch: PreparedBatch) => Pick<Rejection, 'code' | 'detail'> | null;
  /** Of the transaction that is open. */
  #rejections: Rejection[] = [];
  #before = { read: 0, added: 0 };

  constructor(store: Store, file: PreparedFile, options: ImportOptions, counts: ImportCounts) {
    this.#file = file;
    this.#options = options;
    this.#counts = counts;
    this.#index = new IndexWriter(store);
    this.#held = new HeldTransaction(store);
    this.#put = rowWriter(store, this.#index, transaction(store, () => sourceNumber(store, file.name)), options.nowMs, counts);
  }

  /** Waits for what is to be written next; whoever else writes is let go on when that takes too long. */
  async meanwhile<T>(next: Promise<T>): Promise<T> {
    if (!this.#held.isOpen) return next;
    const stop = new AbortController();
    try {
      if (await Promise.race([next.then(() => false), setTimeout(Math.max(1, this.#held.leftMs), true, { signal: stop.signal })])) this.commit();
    } finally {
      stop.abort();
    }
    return next;
  }

  async write(batch: PreparedBatch): Promise<void> {
    for (let at = 0; at < batch.rows.length;) {
      if (!this.#held.isOpen) await this.#held.begin();
      at = this.#writeFrom(at, batch);
      if (this.#held.leftMs <= 0) this.commit();
    }
  }

  /** Ends the transaction, if one is open. */
  commit(): void {
    if (!this.#held.isOpen) return;
    this.#undoneWhenItFails(() => this.#held.commit(() => this.#index.flush()));
    const [rejections, { read, added }] = [this.#rejections, this.#before];
    this.#rejections = [];
    this.#before = { read: this.#counts.read, added: this.#counts.added };
    if (rejections.length > 0) this.#options.onReject(rejections);
    this.#file.expect(2 * (this.#counts.added - added) >= this.#counts.read - read);
  }

  /** Writes the rows from `at` on for which there is time, one at the least; returns where the next one is. */
  #writeFrom(at: number, batch: PreparedBatch): number {
    let next = at;
    this.#undoneWhenItFails(() => {
      do {
        const row = batch.rows[next++] as PreparedRow;
        const rejected = this.#put(row, batch);
        if (rejected !== null) this.#rejections.push({ file: this.#file.name, line: row.line, ...rejected });
      } while (next < batch.rows.length && this.#held.leftMs > 0);
    });
    return next;
  }

  /** After a transaction that was undone nothing more is written: what is remembered of it would be put into the next one. */
  #undoneWhenItFails(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#held.rollback();
      throw error;
    }
  }
}

/** Puts one row; returns why not, where it could not. */
function rowWriter(store: Store, index: IndexWriter, source: number, nowMs: number, counts: ImportCounts): (row: PreparedRow, batch: PreparedBatch) => Pick<Rejection, 'code' | 'detail'> | null {
  const putRow = recordWriter(store, index, source, nowMs, counts);
  return (row, batch) => {
    counts.read++;
    if (row.kind === 'skipped') {
      counts.skipped++;
      return null;
    }
    if (row.kind === 'refused') return counts.reject(row.refusal);
    const put = putRow(row, batch);
    if (put === null) {
      counts.skipped++;
      return null;
    }
    if (put.kind === 'rejected') return counts.reject(put);
    counts.count(put, row.line);
    return null;
  };
}

type KeptRow = Exclude<PreparedRow, { readonly kind: 'skipped' | 'refused' }>;

/** What it returns of a row in which nobody is, is null. */
function recordWriter(store: Store, index: IndexWriter, source: number, nowMs: number, counts: ImportCounts): (row: KeptRow, batch: PreparedBatch) => Put | null {
  const putPerson = preparedPersonWriter(store, index);
  const putCompany = preparedCompanyWriter(store, index);
  const putSignal = signalWriter(store, index);
  const putDelivery = deliveryWriter(store);
  return (row, { personTerms, companyTerms, texts }) => {
    switch (row.kind) {
      case 'contact': {
        const put = putPerson(row.person, source, { terms: personTerms, texts }, row.company);
        // The company of somebody who asked to be removed is nobody's secret, but the row is not kept.
        if (put.kind === 'put' && row.company !== null) counts.company(putCompany(row.company, source, { terms: companyTerms, texts }), row.line);
        return put;
      }
      case 'employer': {
        const put = putCompany(row.company, source, { terms: companyTerms, texts });
        if (put.kind === 'rejected') return put;
        counts.company(put, row.line);
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
