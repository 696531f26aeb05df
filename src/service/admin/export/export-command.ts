/** `millrace export`: a store's records into files, or to standard output. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { csvRow } from '../../../formats/csv/csv-row.ts';
import type { Compression, InputFormat } from '../../../formats/input-record.ts';
import { guardFormula } from '../../../util/formula-guard.ts';
import { MillraceError, standardOutputFailure, StorageError, storageHint } from '../../../util/errors.ts';
import { storeFailure } from '../../store/failure.ts';
import { openExistingStore } from '../../store/open-store.ts';
import type { Store } from '../../store/store.ts';
import { exportRecords, tableCells, tableColumns, type ExportKind } from './export-records.ts';
import { AtomicOutput } from './atomic-output.ts';

export interface ExportSettings {
  readonly store: string;
  readonly outputs: readonly Output[];
  readonly withSources: boolean;
  /** Tables only: prefixes cells that a spreadsheet would run as a formula. */
  readonly escapesFormulas: boolean;
}

interface Output {
  readonly kind: ExportKind;
  /** `-` is standard output. */
  readonly path: string;
  readonly format: InputFormat;
  readonly compression: Compression;
}

/** Bytes per write. */
const CHUNK = 64 * 1024;
const CLOSED_HINT = 'Whoever read it stopped reading; name a file instead of - to have it whole.';

/**
 * Writes every output from one snapshot of the store. Files (mode 0600) appear under their names when all are complete. Prints the counts
 * unless records go to standard output.
 * @throws StorageError before any record is read when an output cannot be written; InputError when the path is not a regular file
 */
export async function exportCommand(settings: ExportSettings, signal: AbortSignal): Promise<void> {
  const store = openExistingStore(settings.store);
  const files = new Map<string, AtomicOutput>();
  try {
    const paths = settings.outputs.map(({ path }) => path).filter((path) => path !== '-');
    for (const path of paths) files.set(path, await named(path, signal, () => AtomicOutput.begin(path)));
    store.exec('BEGIN');
    const counts: Record<string, number> = {};
    for (const output of settings.outputs) {
      const file = files.get(output.path);
      const lines = linesOf(store, output, settings);
      counts[output.kind] =
        file === undefined
          ? await pour(lines, process.stdout, signal)
          : await named(output.path, signal, () => file.fill((partial) => writeFile(lines, output, partial, signal)));
    }
    for (const [path, file] of files) await named(path, signal, () => file.publish());
    if (paths.length === settings.outputs.length) process.stdout.write(`${JSON.stringify(counts)}\n`);
  } catch (error) {
    throw storeFailure(error, settings.store);
  } finally {
    for (const file of files.values()) await file.close();
    store.close();
  }
}

/** Returns the number of records. @throws the file system's errors */
async function writeFile(
  lines: Iterable<Uint8Array>,
  { compression, format }: Output,
  partial: string,
  signal: AbortSignal,
): Promise<number> {
  const file = createWriteStream(partial, { flags: 'r+', flush: true });
  const compressed = compression === 'none' ? null : compression === 'gzip' ? createGzip() : createZstdCompress();
  // A pipeline, so that a disk error ends the compressor too. Alone, it would wait for its reader for ever.
  const done = compressed === null ? finished(file) : pipeline(compressed, file);
  const target: Writable = compressed ?? file;
  const poured = pour(lines, target, signal).finally(() => target.end());
  const [written] = await Promise.all([poured, done]);
  return format === 'jsonl' ? written : written - 1;
}

/** Runs an operation on an output, and names that output in the error when it fails. */
async function named<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError || isSqlite(error)) throw error;
    throw new StorageError('export_failed', `cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`, {
      hint: storageHint(error, 'it starts over'),
      cause: error,
    });
  }
}

/** Damage of the store is not an error of the output. */
function isSqlite(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR';
}

function* linesOf(store: Store, { kind, format }: Output, { withSources, escapesFormulas }: ExportSettings): Generator<Uint8Array> {
  if (format === 'jsonl') {
    for (const record of exportRecords(store, kind, withSources)) yield Buffer.from(`${JSON.stringify(record)}\n`);
    return;
  }
  const columns = tableColumns(kind);
  const row = csvRow(format === 'tsv' ? '\t' : ',');
  const tableRow = (cells: readonly string[]): Uint8Array => row(escapesFormulas ? cells.map(guardFormula) : cells);
  yield tableRow(columns);
  for (const record of exportRecords(store, kind, false)) yield tableRow(tableCells(record, columns));
}

/** Returns the number of lines. @throws StorageError when standard output fails; for files the file system's errors */
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
