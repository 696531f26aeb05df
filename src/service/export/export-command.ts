/** `millrace export`: a store's records into files, or to standard output. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { MillraceError, standardOutputFailure, StorageError, storageHint } from '../../errors.ts';
import { storeFailure } from '../store/failure.ts';
import { openExistingStore } from '../store/open-store.ts';
import type { Store } from '../store/store.ts';
import { exportRecords, tableCells, tableColumns, type ExportKind } from './export-records.ts';
import { WholeFile } from './whole-file.ts';

export interface ExportSettings {
  readonly store: string;
  readonly outputs: readonly Output[];
  readonly withSources: boolean;
}

interface Output {
  readonly kind: ExportKind;
  /** `-` is standard output. */
  readonly path: string;
  readonly compression: 'none' | 'gzip' | 'zstd';
  /** Null: JSON lines. */
  readonly tableRow: TableRow | null;
}

/** One line of a table, its end included. */
type TableRow = (cells: readonly string[]) => Uint8Array;

/** Bytes handed over at once. */
const CHUNK = 64 * 1024;
const CLOSED_HINT = 'Whoever read it stopped reading; name a file instead of - to have it whole.';

/**
 * Writes every output, all of one moment; files appear at their names when all are whole (0600). Prints the counts unless standard output has records.
 * @throws StorageError before anything is read when an output cannot be written; InputError when something else lies at its path
 */
export async function exportCommand(settings: ExportSettings, signal: AbortSignal): Promise<void> {
  const store = openExistingStore(settings.store);
  const files = new Map<string, WholeFile>();
  try {
    const paths = settings.outputs.map(({ path }) => path).filter((path) => path !== '-');
    for (const path of paths) files.set(path, await named(path, signal, () => WholeFile.begin(path)));
    store.exec('BEGIN');
    const counts: Record<string, number> = {};
    for (const output of settings.outputs) {
      const file = files.get(output.path);
      const lines = linesOf(store, output, settings);
      counts[output.kind] = file === undefined ? await pour(lines, process.stdout, signal) : await named(output.path, signal, () => file.fill((partial) => writeFile(lines, output, partial, signal)));
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

/** Returns how many records it were. @throws what the disk says */
async function writeFile(lines: Iterable<Uint8Array>, { compression, tableRow }: Output, partial: string, signal: AbortSignal): Promise<number> {
  const file = createWriteStream(partial, { flags: 'r+', flush: true });
  const compressed = compression === 'none' ? null : compression === 'gzip' ? createGzip() : createZstdCompress();
  // A pipeline, so that a disk that fails ends the compressor too: alone it would wait for its reader for ever.
  const done = compressed === null ? finished(file) : pipeline(compressed, file);
  const target: Writable = compressed ?? file;
  const poured = pour(lines, target, signal).finally(() => target.end());
  const [written] = await Promise.all([poured, done]);
  return tableRow === null ? written : written - 1;
}

/** Does what may fail at an output, and names the output in what it fails with. */
async function named<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError || isSqlite(error)) throw error;
    throw new StorageError('export_failed', `cannot write ${path}: ${error instanceof Error ? error.message : String(error)}`, { hint: storageHint(error, 'it starts over'), cause: error });
  }
}

/** A damaged store is no failure of the output. */
function isSqlite(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR';
}

function* linesOf(store: Store, { kind, tableRow }: Output, { withSources }: ExportSettings): Generator<Uint8Array> {
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
