/** `millrace import`: files into a store, and what became of their rows. */
import { closeSync, existsSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { EXIT, InputError, StorageError, storageHint, UsageError, type ExitCode } from '../../errors.ts';
import { makeFolders } from '../../storage/make-folders.ts';
import { nearest } from '../nearest.ts';
import { storeFailure } from '../store/failure.ts';
import { boundLog, openStore } from '../store/open-store.ts';
import { closeOrRemove } from '../store/remove-empty.ts';
import type { Store } from '../store/store.ts';
import { ImportCounts, type Rejection } from './counts.ts';
import { importRows, type PreparedFile } from './import-rows.ts';
import { leftOut } from './left-out.ts';
import { nameTable, type ImportKind, type KeyAliases, type NameTable } from './names.ts';
import { readerOf, type RowReader } from './row-values.ts';

export interface ImportSettings {
  readonly store: string;
  /** Each kind with its files, in the order in which they are loaded. */
  readonly inputs: readonly { readonly kind: ImportKind; readonly files: (nowMs: number) => AsyncIterable<PreparedFile> }[];
  /** Columns named by hand, by target. */
  readonly columns: ReadonlyMap<string, string>;
  readonly aliases: KeyAliases;
  readonly plainName: (name: string) => string;
  /** Where rejected rows are told of. */
  readonly rejectedPath: string;
}

/** A command that writes may wait for another; milliseconds. */
const WAIT_MS = 60_000;
/** An import touches pages all over the file, the same ones again and again: they are kept in memory, and moved from the log to the file seldom. */
const CACHE_KIB = 262_144;
const LOG_BYTES = 256 * 1024 * 1024;

/**
 * Imports and prints one line of JSON with the counts of each kind. The exit code is 0 also when rows were rejected; 65 when all were.
 * @throws UsageError for a column that names no field; StorageError; what the files' reader throws.
 */
export async function importCommand(settings: ImportSettings, signal: AbortSignal): Promise<ExitCode> {
  checkTargets(settings);
  const rejected = new RejectedFile(settings.rejectedPath);
  const isNew = !existsSync(settings.store);
  const store = openStore(settings.store, WAIT_MS);
  let isDone = false;
  try {
    store.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    boundLog(store, LOG_BYTES);
    const result: Record<string, unknown> = {};
    const all = new ImportCounts();
    for (const { kind, files } of settings.inputs) {
      const counts = await importKind(store, kind, files, settings, rejected, signal);
      all.add(counts);
      result[kind] = summary(kind, counts);
    }
    store.exec('PRAGMA optimize');
    rejected.dropOld();
    process.stdout.write(`${JSON.stringify({ ...result, rejectedRows: rejected.rows === 0 ? null : settings.rejectedPath })}\n`);
    isDone = all.rejectedRows < all.read || all.read === 0;
    if (isDone) return EXIT.ok;
    throw new InputError('all_rejected', `every row was rejected: ${all.read} of ${all.read} (${Object.keys(all.rejected).join(', ')})`, { hint: `${settings.rejectedPath} says of each why; columns are named with --columns.email NAME and the like.` });
  } catch (error) {
    throw storeFailure(error, settings.store);
  } finally {
    rejected.close();
    if (isNew && !isDone) closeOrRemove(store, settings.store);
    else store.close();
  }
}

async function importKind(store: Store, kind: ImportKind, files: (nowMs: number) => AsyncIterable<PreparedFile>, settings: ImportSettings, rejected: RejectedFile, signal: AbortSignal): Promise<ImportCounts> {
  const counts = new ImportCounts();
  const nowMs = Date.now();
  const reader = readerOf(kind, settings.columns, settings.aliases, settings.plainName);
  for await (const file of files(nowMs)) {
    checkHeader(file, reader, settings.columns);
    const ofFile = await importRows(store, file, { nowMs, signal, onReject: (rows: readonly Rejection[]) => rejected.write(rows) });
    counts.add(ofFile);
    tellOfSurplus(file.name, ofFile);
    const withoutMeaning = reader.unknown(file.header);
    for (const sentence of leftOut(kind, ofFile, withoutMeaning)) process.stderr.write(`millrace: ${file.name}: ${sentence}\n`);
    tellOf(file.name, 'columns without a meaning here', withoutMeaning);
    tellOf(file.name, 'columns that are used only where a better one of their field is empty', reader.secondBest(file.header));
  }
  return counts;
}

function tellOf(file: string, what: string, columns: readonly string[]): void {
  if (columns.length === 0) return;
  process.stderr.write(`millrace: ${file}: ${what}: ${columns.slice(0, 20).map((name) => JSON.stringify(name.slice(0, 60))).join(', ')}${columns.length > 20 ? ` and ${columns.length - 20} more` : ''}\n`);
}

/** Mostly quotes are missing around a delimiter, and then the cells after it stand in other columns than their own. */
function tellOfSurplus(file: string, { surplus, firstSurplus }: ImportCounts): void {
  if (firstSurplus === null) return;
  process.stderr.write(`millrace: ${file}: ${surplus === 1 ? 'a row has' : `${surplus} rows have`} more cells than the header (${surplus === 1 ? '' : 'the first in '}line ${firstSurplus}): what is beyond was left out\n`);
}

/** @throws UsageError when a column is named by hand for a field that none of the kinds has */
function checkTargets({ columns, aliases, plainName, inputs }: ImportSettings): void {
  const tables = inputs.map(({ kind }) => nameTable(kind, aliases, plainName));
  const unknown = [...columns.keys()].find((target) => !tables.some(({ targets }) => targets.includes(target)));
  if (unknown !== undefined && tables[0] !== undefined) throw unknownTarget(unknown, tables[0]);
}

function unknownTarget(target: string, { targets }: NameTable): UsageError {
  const near = nearest(target, targets);
  return new UsageError('unknown_flag', `--columns.${target.slice(0, 80)} names no field${near === null ? '' : `; did you mean --columns.${near}?`}`);
}

function checkHeader({ name, header }: PreparedFile, reader: RowReader, columns: ReadonlyMap<string, string>): void {
  if (header.length === 0) return;
  const lacking = [...columns].find(([, column]) => !header.includes(column));
  if (lacking !== undefined && header.every((column) => column.trim().toLowerCase() !== lacking[1].trim().toLowerCase())) {
    throw new InputError('input_no_columns', `${name} has no column ${JSON.stringify(lacking[1])} (--columns.${lacking[0]})`, { hint: `Its columns: ${header.slice(0, 20).join(', ')}.` });
  }
  if (reader.unknown(header).length < header.length) return;
  throw new InputError('input_no_columns', `${name}: none of its columns is known: ${header.slice(0, 20).join(', ')}`, { hint: 'Name them, as in --columns.email "Primary contact". docs/operating.md lists the fields.' });
}

function summary(kind: ImportKind, { read, added, updated, unchanged, skipped, surplus, rejected, dropped, companies }: ImportCounts): Record<string, unknown> {
  const counts = { read, added, updated, unchanged, rejected, dropped, surplus };
  if (kind === 'signals') return counts;
  return kind === 'contacts' ? { ...counts, skipped, companies } : { ...counts, skipped };
}

/** The report of rejected rows: made with the first, for its owner only, in the place of an earlier one and of no other file. */
class RejectedFile {
  readonly #path: string;
  #file: number | null = null;
  rows = 0;

  /** @throws InputError when something else lies there; StorageError when that cannot be told */
  constructor(path: string) {
    this.#path = path;
    if (existsSync(path) && !this.#tried(() => isRejections(path))) {
      throw new InputError('output_not_ours', `${path} exists, and is no report of rejected rows`, { hint: 'Name another file with --rejected, or move that one away.' });
    }
  }

  /** @throws StorageError */
  write(rejections: readonly Rejection[]): void {
    this.#tried(() => {
      if (this.#file === null) {
        rmSync(this.#path, { force: true });
        makeFolders(dirname(this.#path));
        this.#file = openSync(this.#path, 'wx', 0o600);
      }
      this.rows += rejections.length;
      writeSync(this.#file, rejections.map((one) => `${JSON.stringify(one)}\n`).join(''));
    });
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  /** All is loaded and nothing was rejected: an earlier report would be taken for this one's. */
  dropOld(): void {
    if (this.rows === 0) this.#tried(() => rmSync(this.#path, { force: true }));
  }

  /** A failure here is none of the store's. */
  #tried<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new StorageError('report_failed', `the report of rejected rows ${this.#path} could not be written: ${(error as Error).message}`, { hint: storageHint(error, 'it goes on where it can'), cause: error });
    }
  }
}

/** Longer than what stands before the row itself. */
const LOOKED_AT_BYTES = 4_096;

/** An empty file, or one that begins as ours do. */
function isRejections(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(LOOKED_AT_BYTES);
    const read = readSync(file, bytes, 0, LOOKED_AT_BYTES, 0);
    return read === 0 || bytes.toString('utf8', 0, read).startsWith('{"file":');
  } finally {
    closeSync(file);
  }
}
