/** Copies the readable rows of a damaged store into a new one, and the unreadable rows from a backup. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { transaction } from '../../../sqlite/transaction.ts';
import { Names } from '../check/finding.ts';
import { yieldToAbort } from '../check/record-check.ts';
import { isDamage, TableScan, type Key } from '../check/scan.ts';
import { isDerived, isReadable, tablesOf, type Row, type Table } from '../check/tables.ts';

/** One file of the stores of a restore. `old` is null when none of it can be read; `backup` is null without a backup. */
export interface Files {
  readonly old: DatabaseSync | null;
  readonly backup: DatabaseSync | null;
  readonly fresh: DatabaseSync;
}

/** The outcome of one table. */
export interface Salvaged {
  readonly table: string;
  /** Rows of the damaged store. */
  readonly copied: number;
  /** Rows of the backup, by their key. */
  readonly restored: readonly Key[];
  /** Rows of the backup that are older than the store's row. */
  readonly superseded: number;
  /** Rows that are in neither, as far as an index names them. */
  readonly lost: Names;
}

/** Rows per transaction. */
const ROWS_AT_ONCE = 2_048;
/** Columns of a company that are derived for search and for its page. They are computed again. */
const MADE_AGAIN: Readonly<Record<string, readonly string[]>> = { companies: ['terms', 'shown_signals'] };

/**
 * Copies the rows of every table of the file.
 * @param suspect tables with damage; the backup is used only for these
 * @param mayRestore whether a row of the backup may be restored: it may belong to a person who was erased since
 */
export async function salvage(
  stores: Files,
  suspect: ReadonlySet<string>,
  mayRestore: (table: string, row: Row) => boolean,
  signal: AbortSignal,
): Promise<Salvaged[]> {
  const done: Salvaged[] = [];
  for (const table of tablesOf(stores.fresh).filter(({ name }) => !isDerived(name))) {
    done.push(await salvageTable(stores, table, suspect.has(table.name), (row) => mayRestore(table.name, row), signal));
  }
  copySequences(stores);
  return done;
}

async function salvageTable(
  stores: Files,
  table: Table,
  isSuspect: boolean,
  mayRestore: (row: Row) => boolean,
  signal: AbortSignal,
): Promise<Salvaged> {
  const { old, backup, fresh } = stores;
  const put = putter(fresh, table);
  let copied = 0;
  let isDamaged = isSuspect || old === null;
  if (old !== null) {
    const scan = scanOf(old, backup, table);
    await inTransactions(fresh, scan.rows(), signal, (row) => {
      if (isReadable(table.name, row) && put(row)) copied++;
      else isDamaged = true;
    });
    isDamaged ||= scan.isDamaged;
  }
  const restored: Key[] = [];
  let superseded = 0;
  if (isDamaged && backup !== null) {
    const isThere = finder(fresh, table);
    const wasRemoved = removalTest(old, table);
    await inTransactions(fresh, new TableScan(backup, table).rows(), signal, (row) => {
      if (!isReadable(table.name, row) || isThere(row) || wasRemoved(row) || !mayRestore(row)) return;
      if (put(row)) restored.push(table.identity.map((column) => row[column] as SQLInputValue));
      else superseded++;
    });
  }
  return { table: table.name, copied, restored, superseded, lost: isDamaged && old !== null ? lostOf(old, fresh, table) : new Names() };
}

async function inTransactions(fresh: DatabaseSync, rows: Iterable<Row>, signal: AbortSignal, take: (row: Row) => void): Promise<void> {
  let pending: Row[] = [];
  const write = (): void => {
    const batch = pending;
    pending = [];
    transaction(fresh, () => batch.forEach(take));
  };
  for (const row of rows) {
    pending.push(row);
    if (pending.length < ROWS_AT_ONCE) continue;
    write();
    await yieldToAbort(signal);
  }
  write();
}

/** Tables without row numbers: the backup's keys are used to seek behind a damaged page. */
function scanOf(old: DatabaseSync, backup: DatabaseSync | null, table: Table): TableScan {
  if (table.key[0] === 'rowid')
    return new TableScan(
      old,
      table,
      null,
      backup === null ? 0 : Number(backup.prepare(`SELECT max(rowid) AS n FROM "${table.name}"`).get()?.['n'] ?? 0),
    );
  const key = table.key.map((column) => `"${column}"`).join(', ');
  const select = `SELECT ${key} FROM "${table.name}"`;
  const after = backup?.prepare(`${select} WHERE (${key}) > (${table.key.map(() => '?').join(', ')}) ORDER BY ${key}`);
  const all = backup?.prepare(`${select} ORDER BY ${key}`);
  return new TableScan(old, table, function* (last) {
    for (const row of (last === null ? all?.iterate() : after?.iterate(...last)) ?? [])
      yield table.key.map((column) => row[column] as SQLInputValue);
  });
}

/** SQLITE_CONSTRAINT (sqlite.org/rescode.html): a value has the wrong type, or is missing. */
const CONSTRAINT = 19;

/** Inserts a row unchanged. Returns false when another row has its key, or the table refuses it. */
function putter(fresh: DatabaseSync, table: Table): (row: Row) => boolean {
  const again = MADE_AGAIN[table.name] ?? [];
  const columns = table.columns.filter((column) => !again.includes(column));
  const insert = fresh.prepare(
    `INSERT OR IGNORE INTO "${table.name}" (${columns.map((column) => `"${column}"`).join(', ')}` +
      `) VALUES (${columns.map(() => '?').join(', ')})`,
  );
  return (row) => {
    try {
      return Number(insert.run(...columns.map((column) => row[column] as SQLInputValue)).changes) > 0;
    } catch (error) {
      if (((error as { readonly errcode?: number }).errcode ?? 0) % 256 !== CONSTRAINT) throw error;
      return false;
    }
  };
}

function finder(store: DatabaseSync, { name, identity }: Table): (row: Row) => boolean {
  const find = store.prepare(`SELECT 1 FROM "${name}" WHERE ${identity.map((column) => `"${column}" = ?`).join(' AND ')}`);
  return (row) => find.get(...identity.map((column) => row[column] as SQLInputValue)) !== undefined;
}

/**
 * Whether the store has deleted a row of the backup since. Its place must be readable and empty, and no index may name it: an unreadable
 * place proves nothing.
 */
function removalTest(old: DatabaseSync | null, table: Table): (row: Row) => boolean {
  if (old === null) return () => false;
  const find = finder(old, table);
  const { label } = table;
  const named: StatementSync | null =
    label === null ? null : old.prepare(`SELECT 1 FROM "${table.name}" INDEXED BY "${label.index}" WHERE "${label.column}" = ?`);
  return (row) => {
    try {
      return !find(row) && (label === null || named?.get(row[label.column] as SQLInputValue) === undefined);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return false;
    }
  };
}

/** Keys that an index of the damaged store names, and the new store lacks. */
function lostOf(old: DatabaseSync, fresh: DatabaseSync, { name, label }: Table): Names {
  const lost = new Names();
  if (label === null) return lost;
  const find = fresh.prepare(`SELECT 1 FROM "${name}" WHERE "${label.column}" = ?`);
  try {
    for (const { named } of old.prepare(`SELECT "${label.column}" AS named FROM "${name}" INDEXED BY "${label.index}"`).iterate())
      if (find.get(named as string) === undefined) lost.add(String(named));
  } catch (error) {
    if (!isDamage(error)) throw error;
  }
  return lost;
}

/** Copies the sequence counters, so that no number is used twice. */
function copySequences({ old, backup, fresh }: Files): void {
  const put = fresh.prepare('UPDATE sqlite_sequence SET seq = max(seq, ?2) WHERE name = ?1');
  const add = fresh.prepare(
    'INSERT INTO sqlite_sequence (name, seq) SELECT ?1, ?2 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = ?1)',
  );
  for (const store of [old, backup]) {
    for (const { name, seq } of sequencesOf(store)) {
      add.run(name as string, seq as number);
      put.run(name as string, seq as number);
    }
  }
}

function sequencesOf(store: DatabaseSync | null): Row[] {
  try {
    return store?.prepare('SELECT name, seq FROM sqlite_sequence').all() ?? [];
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [];
  }
}
