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

/** Rows of one transaction: few enough that nobody waits long for it, enough that its end costs little. */
const ROWS_AT_ONCE = 6_144;
/** Long rows wait in smaller numbers. */
const CHARACTERS_AT_ONCE = 16 * 1024 * 1024;
/** On a slow machine a transaction ends sooner, after so many milliseconds. After each the store is left to others for a moment: answers that cost something wait for it. */
const HELD_MS = 200;
const LEFT_MS = 8;

/** A row with the batch that it came in. */
interface Waiting {
  readonly row: PreparedRow;
  readonly batch: PreparedBatch;
}

/**
 * Imports a file. Every row stands for itself: a bad one is reported and the others are kept. What was imported before an error or
 * an abort stays, and importing the file again does no harm.
 */
export async function importRows(store: Store, file: PreparedFile, options: ImportOptions): Promise<ImportCounts> {
  const counts = new ImportCounts();
  const write = transactionWriter(store, file, options, counts);
  let waiting: Waiting[] = [];
  let characters = 0;
  let hasFailed = false;
  /** Writes until no more than so many rows wait. */
  const writeDown = async (most: number): Promise<void> => {
    while (waiting.length > most) {
      if (counts.read > 0) await setTimeout(LEFT_MS);
      hasFailed = true;
      waiting = waiting.slice(write(waiting));
      hasFailed = false;
    }
    if (waiting.length === 0) characters = 0;
  };
  try {
    for await (const batch of file.batches) {
      for (const row of batch.rows) waiting.push({ row, batch });
      characters += batch.size;
      options.signal.throwIfAborted();
      if (characters >= CHARACTERS_AT_ONCE) await writeDown(0);
      else await writeDown(ROWS_AT_ONCE - 1);
    }
  } finally {
    // Also what was read before the file came to a bad end. After a transaction that was undone nothing more: what is remembered of it would be put into the next one.
    if (!hasFailed) await writeDown(0);
  }
  return counts;
}

/** Writes rows in one transaction, as many as there is time for; returns how many. */
function transactionWriter(store: Store, file: PreparedFile, options: ImportOptions, counts: ImportCounts): (waiting: readonly Waiting[]) => number {
  const index = new IndexWriter(store);
  const put = rowWriter(store, index, transaction(store, () => sourceNumber(store, file.name)), options.nowMs, counts);
  return (waiting) => {
    const rejections: Rejection[] = [];
    const addedBefore = counts.added;
    const written = transaction(store, () => {
      const endMs = performance.now() + HELD_MS;
      let next = 0;
      for (; next < waiting.length && (next === 0 || performance.now() < endMs); next++) {
        const { row, batch } = waiting[next] as Waiting;
        const rejected = put(row, batch);
        if (rejected !== null) rejections.push({ file: file.name, line: row.line, ...rejected });
      }
      index.flush();
      return next;
    });
    if (rejections.length > 0) options.onReject(rejections);
    file.expect(2 * (counts.added - addedBefore) >= written);
    return written;
  };
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
    if (put.kind === 'rejected') return counts.reject(put);
    counts.count(put);
    return null;
  };
}

type KeptRow = Exclude<PreparedRow, { readonly kind: 'skipped' | 'refused' }>;

function recordWriter(store: Store, index: IndexWriter, source: number, nowMs: number, counts: ImportCounts): (row: KeptRow, batch: PreparedBatch) => Put {
  const putPerson = preparedPersonWriter(store, index);
  const putCompany = preparedCompanyWriter(store, index);
  const putSignal = signalWriter(store, index);
  const putDelivery = deliveryWriter(store);
  return (row, { personTerms, companyTerms, texts }) => {
    switch (row.kind) {
      case 'contact': {
        const put = putPerson(row.person, source, { terms: personTerms, texts });
        // The company of somebody who asked to be removed is nobody's secret, but the row is not kept.
        if (put.kind === 'put' && row.company !== null) counts.company(putCompany(row.company, source, { terms: companyTerms, texts }));
        return put;
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
