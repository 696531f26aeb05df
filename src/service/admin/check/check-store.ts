/** Finds damage in a store without changing it. A service may use the store meanwhile. */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { InputError } from '../../../util/errors.ts';
import { booksOf, nameOfStore } from '../../store/owner/store-name.ts';
import { checkBooks, newerStore } from '../../store/books-file.ts';
import { newestVersion, schemaOf, unreleasedStore } from '../../store/schema/prepare-schema.ts';
import { MIGRATIONS } from '../../store/schema/schema.ts';
import { Store } from '../../store/store.ts';
import { checkBatches } from './batch-check.ts';
import { checkFile } from './file-check.ts';
import { isDamageFinding, type Finding } from './finding.ts';
import { damagedTables, type TableDamage } from './page-check.ts';
import { checkRecords } from './record-check.ts';
import { isDamage } from './scan.ts';
import { checkSearch } from './search-check.ts';
import { isDerived, KEY_TABLES, SEARCH_TABLES, tablesOf, wordsOf, type Table } from './tables.ts';

export interface CheckResult {
  readonly findings: readonly Finding[];
  /** Rows are lost, not only data that can be rebuilt from other tables. */
  readonly needsBackup: boolean;
  readonly isDamaged: boolean;
}

/** @throws InputError when the store does not exist or has another version; the file system's errors */
export async function checkStore(path: string, nowMs: number, signal: AbortSignal): Promise<CheckResult> {
  if (!existsSync(path))
    throw new InputError('store_missing', `There is no store ${path}`, {
      hint:
        'Check the name given with --store. When it is lost: `millrace ' +
        'check --store FILE --restore BACKUP` puts a backup in its place.',
    });
  // The log and the batch-job files are beside the file itself, not beside a link to it.
  const file = nameOfStore(path);
  const files = [file, booksOf(file)];
  const wasOpen = files.map((one) => existsSync(`${one}-wal`));
  try {
    // A store of an earlier version has no books beside it.
    if (checkFile(file).length === 0) await reading(file, async (store) => orNull(() => checkVersion(store, path)));
    const ofFiles = files.flatMap(checkFile);
    if (ofFiles.length > 0) return resultOf(ofFiles);
    const found = await reading(file, (store) => checkTables(store, path, signal));
    // Opens a new snapshot: files come and go, and are compared with the store at that moment.
    return resultOf(
      found.some(({ code }) => code === 'file_damaged')
        ? found
        : [...found, ...(await reading(file, (store) => filesOf(store, file, nowMs, signal)))],
    );
  } finally {
    for (const [at, one] of files.entries()) if (wasOpen[at] === false) tidyLog(one);
  }
}

async function reading<T>(path: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openReadOnly(path);
  try {
    return await work(store);
  } finally {
    store.close();
  }
}

/** Opens the store's files read-only. They stay unchanged, whatever is wrong with them. Books may be missing. */
export function openReadOnly(path: string): Store {
  const options = { readOnly: true, timeout: 2_000 };
  const store = new Store(path, options);
  if (existsSync(booksOf(path))) store.books = new DatabaseSync(booksOf(path), options);
  return store;
}

/** Checks all tables of each file in one snapshot. */
async function checkTables(store: Store, path: string, signal: AbortSignal): Promise<Finding[]> {
  store.exec('BEGIN');
  store.books.exec('BEGIN');
  const listed = readTables(store, path);
  if (listed === null)
    return [
      {
        code: 'file_damaged',
        table: null,
        detail: 'the list of tables in the file is damaged, so nothing of the store can be read',
        names: [],
        count: null,
        remedy: 'backup',
      },
    ];
  const findings: Finding[] = [];
  for (const { file, tables } of listed) findings.push(...(await checkFileTables(file, tables, signal)));
  // Otherwise the same damage would be reported twice.
  if (findings.length === 0) findings.push(...ownerless(store), ...checkSearch(store));
  return findings;
}

async function checkFileTables(file: DatabaseSync, tables: readonly Table[], signal: AbortSignal): Promise<Finding[]> {
  const { damaged, others } = await damagedTables(
    file,
    tables.map(({ name }) => name),
    signal,
  );
  const findings: Finding[] =
    others.length === 0
      ? []
      : [
          {
            code: 'file_damaged',
            table: null,
            detail: `pages of the file are not in order, though every table is: ${others[0] ?? ''}`,
            names: [],
            count: others.length,
            remedy: 'rebuild',
          },
        ];
  for (const table of tables.filter(({ name }) => !isDerived(name))) {
    const damage = damaged.find((one) => one.table === table.name);
    const records = await checkRecords(file, table, damage?.hasDamagedRows === true, signal);
    if (records !== null) findings.push(records);
    else if (damage !== undefined) findings.push(ofIndexes(damage));
  }
  const derived = damaged.filter(({ table }) => isDerived(table));
  findings.push(...derived.filter(({ table }) => !SEARCH_TABLES.includes(table)).map(ofIndexes));
  const searchTables = derived.filter(({ table }) => SEARCH_TABLES.includes(table)).map(({ table }) => table);
  if (searchTables.length > 0)
    findings.push({
      code: 'search_damaged',
      table: null,
      detail: 'what search looks into is damaged; the records are not concerned',
      names: searchTables,
      count: searchTables.length,
      remedy: 'rebuild',
    });
  return findings;
}

/** Returns null when SQLite cannot read the schema. @throws InputError; StorageError */
function readTables(store: Store, path: string): { readonly file: DatabaseSync; readonly tables: Table[] }[] | null {
  return orNull(() => {
    checkVersion(store, path);
    checkBooks(store, path);
    return [store, store.books].map((file) => ({ file, tables: tablesOf(file) }));
  });
}

/** Null when damage prevents it. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}

/** A check knows only the tables of the newest version. @throws InputError; StorageError */
export function checkVersion(store: Store, path: string): void {
  const newest = newestVersion(MIGRATIONS);
  const found = schemaOf(store);
  if (found === newest) return;
  if (typeof found === 'number') {
    if (found > newest) throw newerStore(path, found, newest);
    throw new InputError('store_too_old', `${path} has schema ${found}, and this version of millrace has ${newest}`, {
      hint: 'Any command that opens it, such as `millrace keys list --store FILE`, brings it up to date.',
    });
  }
  const { message, hint } =
    found === 'unreleased' ? unreleasedStore(path) : { message: `${path} is no store of millrace`, hint: 'Check the name.' };
  throw new InputError('store_too_old', message, { hint });
}

function ofIndexes({ table, indexes }: TableDamage): Finding {
  const isKeys = KEY_TABLES.includes(table);
  return {
    code: 'index_damaged',
    table,
    detail: isKeys
      ? `by what else records are found is damaged in ${table}; the records are not concerned`
      : `indexes of ${wordsOf(table)} are damaged; the rows are whole`,
    names: indexes,
    count: indexes.length,
    remedy: 'rebuild',
  };
}

/** Rows whose parent row is missing. */
function ownerless(store: Store): Finding[] {
  return (
    [
      [store, 'other_addresses', 'person', 'people'],
      [store, 'other_keys', 'person', 'people'],
      [store, 'other_numbers', 'person', 'people'],
      [store, 'signal_keys', 'signal', 'signals'],
      [store.books, 'batch_files', 'batch', 'batches'],
    ] as const satisfies [DatabaseSync, string, string, string][]
  ).flatMap(([file, table, column, owner]) => {
    const count = Number(
      file.prepare(`SELECT count(*) AS n FROM ${table} WHERE NOT EXISTS (SELECT 1 FROM ${owner} WHERE seq = ${column})`).get()?.['n'],
    );
    return count === 0
      ? []
      : [
          {
            code: 'rows_without_owner' as const,
            table,
            detail: `${wordsOf(table)} that belong to none of the ${wordsOf(owner)}: ${count}`,
            names: [],
            count,
            remedy: 'rebuild' as const,
          },
        ];
  });
}

async function filesOf(store: Store, path: string, nowMs: number, signal: AbortSignal): Promise<Finding[]> {
  try {
    return await checkBatches(store, path, nowMs, signal);
  } catch (error) {
    // The damage of the batch-job tables was reported before.
    if (!isDamage(error)) throw error;
    return [];
  }
}

function resultOf(findings: readonly Finding[]): CheckResult {
  return { findings, isDamaged: findings.some(isDamageFinding), needsBackup: findings.some(({ remedy }) => remedy === 'backup') };
}

/**
 * Removes an empty log that this read-only check created. Otherwise the store looks as if it were in use until its next writer closes it.
 */
export function tidyLog(path: string): void {
  if (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size !== 0) return;
  try {
    const store = new DatabaseSync(path, { timeout: 0 });
    try {
      store.prepare('SELECT 1 FROM sqlite_schema').get();
    } finally {
      store.close();
    }
  } catch {
    // The store is read-only or damaged. An empty log is harmless.
  }
}
