/**
 * `millrace import`: files into a store, one pass per kind.
 * An import row passes these stages:
 * - Stage 1, parsed: the cells of a table row, or a JSON object (`formats/`, `ParsedRow`).
 * - Stage 2, mapped: values by target, for any column names (`map-row.ts`, `MappedRow`).
 * - Stage 3, normalised: a clean person, company, signal or delivery, with keys and search terms (`normalise-rows.ts`, `NormalisedRow`).
 * - Stage 4, matched: the stored row of the same person or company is found (`service/store/rows/`).
 * - Stage 5, merged: the newer value of each field wins (`service/store/merge/`).
 * - Stage 6, stored: one transaction writes rows and search index (`store-rows.ts`), and the row is counted (`import-counts.ts`).
 * The worker thread does stages 1 to 3. Batches pass to the main thread as bytes (`encode-batch.ts`).
 */
import { closeSync, existsSync, openSync, readSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { EXIT, InputError, StorageError, storageHint, UsageError, type ExitCode } from '../../../util/errors.ts';
import { makeFolders } from '../../../util/files/make-folders.ts';
import { nearest } from '../../../util/nearest.ts';
import { catchUp } from '../../erasure/catch-up.ts';
import { storeFailure } from '../../store/failure.ts';
import { openStore } from '../../store/open-store.ts';
import { nameOfStore } from '../../store/owner/store-name.ts';
import { limitLogSize } from '../../store/store-file.ts';
import { closeOrRemove } from './remove-empty.ts';
import type { Store } from '../../store/store.ts';
import { ImportProgress } from './import-progress.ts';
import { ImportCounts, type Rejection } from './import-counts.ts';
import { normalisedFiles, type ImportTask } from './normalised-files.ts';
import { storeRows, type NormalisedFile } from './store-rows.ts';
import { describeDropped } from './dropped-values.ts';
import { nameTable, type ImportKind, type NameTable } from './column-names.ts';
import { rowMapperOf, type RowMapper } from './map-row.ts';

interface ImportSettings {
  readonly store: string;
  /** Paths, globs and S3 URIs of each kind, in import order. `-` is standard input. */
  readonly inputs: readonly { readonly kind: ImportKind; readonly uris: readonly string[] }[];
  /** The format of the files. Settings that are null are detected per file. */
  readonly shape: ImportTask['shape'];
  /** Columns chosen by the user, by target. */
  readonly columns: ReadonlyMap<string, string>;
  /** The time of rows without a time, epoch milliseconds; null when not given. */
  readonly asOfMs: number | null;
  /** The path of the report of rejected rows. */
  readonly rejectedPath: string;
}

/** How long to wait for another command that writes, milliseconds. */
const WAIT_MS = 60_000;
/** An import changes the same pages many times. So the cache is large, and log checkpoints are rare. */
const CACHE_KIB = 262_144;
const LOG_BYTES = 256 * 1024 * 1024;

/**
 * Imports the files, and prints one line of JSON with the counts of each kind. The exit code is 65 when every row was rejected, else 0.
 * @throws UsageError for a column of an unknown field; StorageError; the errors of reading the files
 */
export async function importCommand(settings: ImportSettings, signal: AbortSignal): Promise<ExitCode> {
  checkTargets(settings);
  const rejected = new RejectedFile(settings.rejectedPath);
  const isNew = !existsSync(settings.store);
  const store = openStore(settings.store, WAIT_MS);
  let isDone = false;
  try {
    store.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
    limitLogSize(store, LOG_BYTES);
    catchUp(store, nameOfStore(settings.store));
    const result: Record<string, unknown> = {};
    const all = new ImportCounts();
    for (const { kind, uris } of settings.inputs) {
      const counts = await importKind(store, kind, uris, settings, rejected, signal);
      all.add(counts);
      result[kind] = summary(kind, counts);
    }
    store.exec('PRAGMA optimize');
    rejected.dropOld();
    process.stdout.write(`${JSON.stringify({ ...result, rejectedRows: rejected.rows === 0 ? null : settings.rejectedPath })}\n`);
    isDone = all.rejectedRows < all.read || all.read === 0;
    if (isDone) return EXIT.ok;
    throw new InputError('all_rejected', `every row was rejected: ${all.read} of ${all.read} (${Object.keys(all.rejected).join(', ')})`, {
      hint: `${settings.rejectedPath} says of each why; columns are named with --columns.email NAME and the like.`,
    });
  } catch (error) {
    throw storeFailure(error, settings.store);
  } finally {
    rejected.close();
    if (isNew && !isDone) closeOrRemove(store);
    else store.close();
  }
}

async function importKind(
  store: Store,
  kind: ImportKind,
  uris: readonly string[],
  settings: ImportSettings,
  rejected: RejectedFile,
  signal: AbortSignal,
): Promise<ImportCounts> {
  const counts = new ImportCounts();
  const nowMs = Date.now();
  const { columns, shape, asOfMs } = settings;
  const mapper = rowMapperOf(kind, columns);
  const progress = new ImportProgress(process.stderr, process.env);
  for (const uri of uris) {
    for await (const file of normalisedFiles({ kind, uri, shape, columns, asOfMs, nowMs }, signal)) {
      checkHeader(file, mapper, columns);
      const ofFile = await storeRows(store, file, {
        nowMs,
        signal,
        onReject: (rows: readonly Rejection[]) => rejected.write(rows),
        onRows: (rows) => progress.update(file.name, rows, file.share?.() ?? null),
      }).finally(() => progress.end());
      counts.add(ofFile);
      reportSurplus(file.name, ofFile);
      reportShared(file.name, ofFile);
      const unknown = mapper.unknown(file.header);
      for (const sentence of describeDropped(kind, ofFile, unknown)) process.stderr.write(`millrace: ${file.name}: ${sentence}\n`);
      reportColumns(file.name, 'columns without a meaning here', unknown);
      reportColumns(file.name, 'columns that are used only where a better one of their field is empty', mapper.secondBest(file.header));
    }
  }
  return counts;
}

function reportColumns(file: string, what: string, columns: readonly string[]): void {
  if (columns.length === 0) return;
  process.stderr.write(
    `millrace: ${file}: ${what}: ${columns
      .slice(0, 20)
      .map((name) => JSON.stringify(name.slice(0, 60)))
      .join(', ')}${columns.length > 20 ? ` and ${columns.length - 20} more` : ''}\n`,
  );
}

/** The usual cause is an unquoted delimiter in a cell, which shifts the following cells into other columns. */
function reportSurplus(file: string, { surplus, firstSurplus }: ImportCounts): void {
  if (firstSurplus === null) return;
  process.stderr.write(
    `millrace: ${file}: ${surplus === 1 ? 'a row has' : `${surplus} rows have`} more cells than the header ` +
      `(${surplus === 1 ? '' : 'the first in '}line ${firstSurplus}): what is beyond was left out\n`,
  );
}

function reportShared(file: string, { sharedAddresses: count, firstShared }: ImportCounts): void {
  if (firstShared === null) return;
  process.stderr.write(
    `millrace: ${file}: ${count === 1 ? 'a row has' : `${count} rows have`} the personal address of a person of another name ` +
      `(${count === 1 ? '' : 'the first in '}line ${firstShared}): both people are stored, and the address is current for both\n`,
  );
}

/** @throws UsageError when a column is chosen for a field that no kind has */
function checkTargets({ columns, inputs }: ImportSettings): void {
  const tables = inputs.map(({ kind }) => nameTable(kind));
  const unknown = [...columns.keys()].find((target) => !tables.some(({ targets }) => targets.includes(target)));
  if (unknown !== undefined && tables[0] !== undefined) throw unknownTarget(unknown, tables[0]);
}

function unknownTarget(target: string, { targets }: NameTable): UsageError {
  const near = nearest(target, targets);
  return new UsageError(
    'unknown_flag',
    `--columns.${target.slice(0, 80)} names no field${near === null ? '' : `; did you mean --columns.${near}?`}`,
  );
}

function checkHeader({ name, header }: NormalisedFile, mapper: RowMapper, columns: ReadonlyMap<string, string>): void {
  if (header.length === 0) return;
  const lacking = [...columns].find(([, column]) => !header.includes(column));
  if (lacking !== undefined && header.every((column) => column.trim().toLowerCase() !== lacking[1].trim().toLowerCase())) {
    throw new InputError('input_no_columns', `${name} has no column ${JSON.stringify(lacking[1])} (--columns.${lacking[0]})`, {
      hint: `Its columns: ${header.slice(0, 20).join(', ')}.`,
    });
  }
  if (mapper.unknown(header).length < header.length) return;
  throw new InputError('input_no_columns', `${name}: none of its columns is known: ${header.slice(0, 20).join(', ')}`, {
    hint: 'Name them, as in --columns.email "Primary contact". docs/operating.md lists the fields.',
  });
}

function summary(
  kind: ImportKind,
  { read, added, updated, unchanged, skipped, surplus, rejected, dropped, companies }: ImportCounts,
): Record<string, unknown> {
  const counts = { read, added, updated, unchanged, rejected, dropped, surplus };
  if (kind === 'signals') return counts;
  return kind === 'contacts' ? { ...counts, skipped, companies } : { ...counts, skipped };
}

/** The report of rejected rows (mode 0600). It is created with the first rejection, and replaces only an earlier report. */
class RejectedFile {
  readonly #path: string;
  #file: number | null = null;
  rows = 0;

  /** @throws InputError when another file is at the path; StorageError when the path cannot be read */
  constructor(path: string) {
    this.#path = path;
    if (existsSync(path) && !this.#tried(() => isRejections(path))) {
      throw new InputError('output_not_ours', `${path} exists, and is no report of rejected rows`, {
        hint: 'Name another file with --rejected, or move that one away.',
      });
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

  /** Removes an earlier report when no row was rejected, so that it is not taken for the report of this import. */
  dropOld(): void {
    if (this.rows === 0) this.#tried(() => rmSync(this.#path, { force: true }));
  }

  /** Turns a failure of the report into its own error, apart from failures of the store. */
  #tried<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw new StorageError(
        'report_failed',
        `the report of rejected rows ${this.#path} could not be written: ${(error as Error).message}`,
        { hint: storageHint(error, 'it goes on where it can'), cause: error },
      );
    }
  }
}

/** Bytes; longer than the header of every report. */
const HEAD_BYTES = 4_096;

/** Whether the file is empty, or begins like a report. */
function isRejections(path: string): boolean {
  if (!statSync(path).isFile()) return false;
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(HEAD_BYTES);
    const read = readSync(file, bytes, 0, HEAD_BYTES, 0);
    return read === 0 || bytes.toString('utf8', 0, read).startsWith('{"file":');
  } finally {
    closeSync(file);
  }
}
