/** Looks for damage in a store without changing anything; a service may use it meanwhile. */
import { existsSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { InputError, StorageError } from '../../errors.ts';
import { nameOfStore } from '../owner/store-name.ts';
import { MIGRATIONS } from '../store/migrations.ts';
import type { Store } from '../store/store.ts';
import { checkBatches } from './batch-check.ts';
import { checkFile } from './file-check.ts';
import { isDamageFinding, type Finding } from './finding.ts';
import { hitTables, type Hit } from './page-check.ts';
import { checkRecords } from './record-check.ts';
import { isDamage } from './scan.ts';
import { checkSearch } from './search-check.ts';
import { isDerived, KEY_TABLES, SEARCH_TABLES, tablesOf, wordsOf, type Table } from './tables.ts';

export interface CheckResult {
  readonly findings: readonly Finding[];
  /** Rows are lost, and not only what can be made again of the others. */
  readonly needsBackup: boolean;
  readonly isDamaged: boolean;
}

/** @throws InputError where there is no store, or it is no store of this version; what the disk says */
export async function checkStore(path: string, nowMs: number, signal: AbortSignal): Promise<CheckResult> {
  if (!existsSync(path)) throw new InputError('store_missing', `There is no store ${path}`, { hint: 'Check the name given with --store. When it is lost: `millrace check --store FILE --restore BACKUP` puts a backup in its place.' });
  // Its log and the files of its batch jobs lie beside the file itself, not beside a link to it.
  const file = nameOfStore(path);
  const ofFile = checkFile(file);
  if (ofFile.length > 0) return resultOf(ofFile);
  const wasOpen = existsSync(`${file}-wal`);
  try {
    const found = await reading(file, (store) => checkTables(store, path, signal));
    // By a connection of its own: files come and go, and are held against the store as it is by then.
    return resultOf(found.some(({ code }) => code === 'file_damaged') ? found : [...found, ...(await reading(file, (store) => filesOf(store, file, nowMs, signal)))]);
  } finally {
    if (!wasOpen) tidyLog(file);
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

/** Opens a file of SQLite to be read alone. Nothing of it is changed, whatever is wrong with it. */
export function openReadOnly(path: string): Store {
  return new DatabaseSync(path, { readOnly: true, timeout: 2_000 });
}

/** All tables as they are at one moment. */
async function checkTables(store: Store, path: string, signal: AbortSignal): Promise<Finding[]> {
  store.exec('BEGIN');
  const tables = readTables(store, path);
  if (tables === null) return [{ code: 'file_damaged', table: null, detail: 'the list of tables in the file is damaged, so nothing of the store can be read', names: [], count: null, remedy: 'backup' }];
  const { hits, others } = await hitTables(store, tables.map(({ name }) => name), signal);
  const findings: Finding[] = others.length === 0 ? [] : [{ code: 'file_damaged', table: null, detail: `pages of the file are not in order, though every table is: ${others[0] ?? ''}`, names: [], count: others.length, remedy: 'rebuild' }];
  for (const table of tables.filter(({ name }) => !isDerived(name))) {
    const hit = hits.find((one) => one.table === table.name);
    const records = await checkRecords(store, table, hit?.isTable === true, signal);
    if (records !== null) findings.push(records);
    else if (hit !== undefined) findings.push(ofIndexes(hit));
  }
  const derived = hits.filter(({ table }) => isDerived(table));
  findings.push(...derived.filter(({ table }) => !SEARCH_TABLES.includes(table)).map(ofIndexes));
  const searchHits = derived.filter(({ table }) => SEARCH_TABLES.includes(table)).map(({ table }) => table);
  if (searchHits.length > 0) findings.push({ code: 'search_damaged', table: null, detail: 'what search looks into is damaged; the records are not concerned', names: searchHits, count: searchHits.length, remedy: 'rebuild' });
  // Else what is hit already would be told of once more.
  if (findings.length === 0) findings.push(...ownerless(store), ...checkSearch(store));
  return findings;
}

/** Null: what SQLite keeps of the tables themselves cannot be read. @throws InputError; StorageError */
function readTables(store: Store, path: string): Table[] | null {
  try {
    checkVersion(store, path);
    return tablesOf(store);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return null;
  }
}

/** What is in a file of another version is not what this one knows. @throws InputError; StorageError */
export function checkVersion(store: Store, path: string): void {
  const newest = MIGRATIONS.at(-1)?.version ?? 0;
  const found = Number(store.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  if (found === newest) return;
  if (found > newest) throw new StorageError('store_too_new', `the store ${path} has schema ${found}; this version of millrace knows up to ${newest}`, { hint: 'use the version of millrace that wrote it, or a newer one' });
  throw new InputError('store_too_old', `${path} ${found === 0 ? 'is no store of millrace' : `has schema ${found}, and this version of millrace has ${newest}`}`, { hint: found === 0 ? 'Check the name.' : 'Any command that opens it, such as `millrace keys list --store FILE`, brings it up to date.' });
}

function ofIndexes({ table, indexes }: Hit): Finding {
  const isKeys = KEY_TABLES.includes(table);
  return { code: 'index_damaged', table, detail: isKeys ? `by what else records are found is damaged in ${table}; the records are not concerned` : `indexes of ${wordsOf(table)} are damaged; the rows are whole`, names: indexes, count: indexes.length, remedy: 'rebuild' };
}

/** Rows that belong to a row that is not there. */
function ownerless(store: Store): Finding[] {
  return [['other_addresses', 'person', 'people'], ['other_keys', 'person', 'people'], ['other_numbers', 'person', 'people'], ['signal_keys', 'signal', 'signals'], ['batch_files', 'batch', 'batches']].flatMap(([table = '', column = '', owner = '']) => {
    const count = Number(store.prepare(`SELECT count(*) AS n FROM ${table} WHERE NOT EXISTS (SELECT 1 FROM ${owner} WHERE seq = ${column})`).get()?.['n']);
    return count === 0 ? [] : [{ code: 'rows_without_owner' as const, table, detail: `${wordsOf(table)} that belong to none of the ${wordsOf(owner)}: ${count}`, names: [], count, remedy: 'rebuild' as const }];
  });
}

async function filesOf(store: Store, path: string, nowMs: number, signal: AbortSignal): Promise<Finding[]> {
  try {
    return await checkBatches(store, path, nowMs, signal);
  } catch (error) {
    // The books of batch jobs are hit, and have been told of.
    if (!isDamage(error)) throw error;
    return [];
  }
}

function resultOf(findings: readonly Finding[]): CheckResult {
  return { findings, isDamaged: findings.some(isDamageFinding), needsBackup: findings.some(({ remedy }) => remedy === 'backup') };
}

/** A log that reading alone has made stays empty beside the file, as if the store were in use: whoever closes it last, and may write, removes it. */
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
    // It may not be written, or is damaged: an empty log does no harm.
  }
}
