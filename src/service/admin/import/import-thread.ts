/** The worker thread of an import: parses, maps and normalises rows, a bounded number of batches ahead of the main thread. */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { openFiles } from '../../../formats/one-file.ts';
import type { InputRecord } from '../../../formats/input-record.ts';
import { CompanyTexts } from './company-texts.ts';
import { encodeBatch } from './encode-batch.ts';
import { readOrders, rowNormaliser, type NormaliseOptions, type ParsedRow } from './normalise-rows.ts';
import { DateOrders } from '../../records/date-orders.ts';
import { rowMapperOf } from './map-row.ts';
import { EXPECTS_NEW, FREE_SLOTS, toFailure, type FromThread, type ThreadTask } from './thread-messages.ts';

/** Rows in a batch: enough that posting costs little per row. */
const ROWS = 1_024;
const CHARACTERS = 2 * 1024 * 1024;

async function work(task: ThreadTask, post: (message: FromThread, moved: ArrayBuffer[]) => void): Promise<void> {
  const mapper = rowMapperOf(task.kind, task.columns);
  const { parse } = new CompanyTexts();
  for await (const file of openFiles(task.uri, task.shape, task.spooled, new AbortController().signal, parse)) {
    post({ type: 'file', name: file.uri === '-' ? 'standard input' : file.uri, header: file.header }, []);
    const orders = new DateOrders();
    const options: NormaliseOptions = {
      kind: task.kind,
      header: file.header,
      mapper,
      asOfMs: task.asOfMs,
      nowMs: task.nowMs,
      orders,
      expectsNew: () => Atomics.load(task.shared, EXPECTS_NEW) === 1,
    };
    const rows = rowNormaliser(options);
    let offset = 0;
    const postBatch = (): void => {
      const { message, moved } = encodeBatch(rows.take());
      post({ type: 'batch', batch: message, share: file.end === null ? null : Math.min(1, offset / file.end) }, moved);
    };
    try {
      for await (const records of file.batches) {
        for (const record of records) {
          if (rows.add(rowOf(record))) continue;
          await readOrders(orders, options, rowsOf(file.batches));
          rows.add(rowOf(record.json === null ? record : { ...record, object: JSON.parse(record.json) as Record<string, unknown> }));
        }
        offset = records.at(-1)?.end.offset ?? offset;
        if (rows.count >= ROWS || rows.size >= CHARACTERS) postBatch();
      }
    } finally {
      // Also when reading failed: posts the rows that were read before.
      if (rows.count > 0) postBatch();
    }
  }
  post({ type: 'end' }, []);
}

async function* rowsOf(batches: AsyncIterable<readonly InputRecord[]>): AsyncGenerator<readonly ParsedRow[], void, void> {
  for await (const records of batches) yield records.map(rowOf);
}

function rowOf({ line, values, json, object, bad, surplus }: InputRecord): ParsedRow {
  return {
    line,
    cells: values,
    object: object ?? null,
    bad,
    surplus,
    size: json?.length ?? values?.reduce((sum, cell) => sum + cell.length, 0) ?? 0,
  };
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const task = workerData as ThreadTask;
  const post = (message: FromThread, moved: ArrayBuffer[]): void => {
    // Blocking is fine: this thread has no other work while the main thread has enough batches.
    while (Atomics.load(task.shared, FREE_SLOTS) === 0) Atomics.wait(task.shared, FREE_SLOTS, 0);
    Atomics.sub(task.shared, FREE_SLOTS, 1);
    port.postMessage(message, moved);
  };
  try {
    await work(task, post);
  } catch (error) {
    post({ type: 'failed', failure: toFailure(error) }, []);
  }
}
