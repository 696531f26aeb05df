/** `millrace export`: a store's records into files, or to standard output. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { MillraceError, standardOutputFailure, StorageError, storageHint } from '../../errors.ts';
import { storeFailure } from '../store/failure.ts';
import { openExistingStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { exportRecords, tableCells, tableColumns, type ExportKind } from './export-records.ts';
import { writeWhole } from './whole-file.ts';

export interface ExportSettings {
  readonly store: string;
  /** `-` is standard output. `tableRow` null: JSON lines. */
  readonly outputs: readonly { readonly kind: ExportKind; readonly path: string; readonly compression: 'none' | 'gzip' | 'zstd'; readonly tableRow: TableRow | null }[];
  readonly withSources: boolean;
}

/** One line of a table, its end included. */
type TableRow = (cells: readonly string[]) => Uint8Array;

/** Bytes handed over at once. */
const CHUNK = 64 * 1024;
const CLOSED_HINT = 'Whoever read it stopped reading; name a file instead of - to have it whole.';

/** Writes every output, all of one moment; files appear at their names when they are whole (0600). Prints the counts unless standard output has records. @throws StorageError */
export async function exportCommand(settings: ExportSettings, signal: AbortSignal): Promise<void> {
  const store = openExistingStore(settings.store);
  try {
    store.exec('BEGIN');
    const counts: Record<string, number> = {};
    for (const output of settings.outputs) counts[output.kind] = await exportTo(store, output, settings, signal);
    if (settings.outputs.every(({ path }) => path !== '-')) process.stdout.write(`${JSON.stringify(counts)}\n`);
  } catch (error) {
    throw storeFailure(error, settings.store);
  } finally {
    store.close();
  }
}

async function exportTo(store: Store, output: ExportSettings['outputs'][number], settings: ExportSettings, signal: AbortSignal): Promise<number> {
  const lines = linesOf(store, output, settings);
  if (output.path === '-') return pour(lines, process.stdout, signal);
  try {
    return await writeWhole(output.path, async (partial) => {
      const file = createWriteStream(partial, { flags: 'r+', flush: true });
      const compressed = output.compression === 'none' ? null : output.compression === 'gzip' ? createGzip() : createZstdCompress();
      const done = finished(file);
      const target: Writable = compressed ?? file;
      compressed?.pipe(file);
      const poured = pour(lines, target, signal).finally(() => target.end());
      const [written] = await Promise.all([poured, done]);
      return output.tableRow === null ? written : written - 1;
    });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError) throw error;
    throw new StorageError('export_failed', `cannot write ${output.path}: ${error instanceof Error ? error.message : String(error)}`, { hint: storageHint(error, 'it starts over'), cause: error });
  }
}

function* linesOf(store: Store, { kind, tableRow }: ExportSettings['outputs'][number], { withSources }: ExportSettings): Generator<Uint8Array> {
  if (tableRow === null) {
    for (const record of exportRecords(store, kind, withSources)) yield Buffer.from(`${JSON.stringify(record)}\n`);
    return;
  }
  const columns = tableColumns(kind);
  yield tableRow(columns);
  for (const record of exportRecords(store, kind, false)) yield tableRow(tableCells(record, columns));
}

/** Returns how many lines it were. @throws StorageError when it is standard output that fails; of others what they fail with */
async function pour(lines: Iterable<Uint8Array>, target: Writable, signal: AbortSignal): Promise<number> {
  let count = 0;
  let waiting: Uint8Array[] = [];
  let bytes = 0;
  const hand = async (): Promise<void> => {
    signal.throwIfAborted();
    const chunk = Buffer.concat(waiting);
    waiting = [];
    bytes = 0;
    try {
      if (target.destroyed) throw target.errored ?? new Error('it was closed');
      if (!target.write(chunk)) await once(target, 'drain', { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw target === process.stdout ? standardOutputFailure(error as NodeJS.ErrnoException, CLOSED_HINT) : error;
    }
  };
  for (const line of lines) {
    count++;
    waiting.push(line);
    bytes += line.length;
    if (bytes >= CHUNK) await hand();
  }
  if (bytes > 0) await hand();
  return count;
}
