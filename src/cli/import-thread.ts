/** The other thread of an import: it reads files and makes their rows ready, as far ahead of the one that writes as it is let. */
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { ALIASES, plainName } from '../reader/aliases.ts';
import { openFiles } from '../reader/one-file.ts';
import type { InputRecord } from '../reader/types.ts';
import { packed } from '../service/import/packed-batch.ts';
import { rowPreparer, type ImportRow } from '../service/import/prepared-rows.ts';
import { readerOf } from '../service/import/row-values.ts';
import { EXPECTS_NEWS, ROOM, toFailure, type FromThread, type ThreadTask } from './import-messages.ts';

/** Rows of a batch: enough that handing it over costs little a row. */
const ROWS = 1_024;
const CHARACTERS = 2 * 1024 * 1024;

async function work(task: ThreadTask, post: (message: FromThread, moved: ArrayBuffer[]) => void): Promise<void> {
  const reader = readerOf(task.kind, task.columns, ALIASES, plainName);
  for await (const file of openFiles(task.uri, task.shape, task.kept, new AbortController().signal)) {
    post({ type: 'file', name: file.uri === '-' ? 'standard input' : file.uri, header: file.header }, []);
    const rows = rowPreparer({ kind: task.kind, header: file.header, reader, asOfMs: task.asOfMs, nowMs: task.nowMs, expectsNews: () => Atomics.load(task.shared, EXPECTS_NEWS) === 1 });
    const hand = (): void => {
      const { message, moved } = packed(rows.take());
      post({ type: 'batch', batch: message }, moved);
    };
    try {
      for await (const records of file.batches) {
        for (const record of records) rows.add(rowOf(record));
        if (rows.count >= ROWS || rows.size >= CHARACTERS) hand();
      }
    } finally {
      // Also what was read before the file came to a bad end.
      if (rows.count > 0) hand();
    }
  }
  post({ type: 'end' }, []);
}

function rowOf({ line, values, json, object, bad, surplus }: InputRecord): ImportRow {
  return { line, cells: values, object: object ?? null, bad, surplus, size: json?.length ?? values?.reduce((sum, cell) => sum + cell.length, 0) ?? 0 };
}

if (!isMainThread && parentPort !== null) {
  const port = parentPort;
  const task = workerData as ThreadTask;
  const post = (message: FromThread, moved: ArrayBuffer[]): void => {
    // Nothing else is to be done here while the other thread has enough.
    while (Atomics.load(task.shared, ROOM) === 0) Atomics.wait(task.shared, ROOM, 0);
    Atomics.sub(task.shared, ROOM, 1);
    port.postMessage(message, moved);
  };
  try {
    await work(task, post);
  } catch (error) {
    post({ type: 'failed', failure: toFailure(error) }, []);
  }
}
