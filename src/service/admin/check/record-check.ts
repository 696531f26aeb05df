/** Lists records that cannot be read, by their names when an index still has these. */
import { setImmediate } from 'node:timers/promises';
import type { DatabaseSync } from 'node:sqlite';
import { Names, type Finding } from './finding.ts';
import { isDamage, TableScan } from './scan.ts';
import { isReadable, wordsOf, type Row, type Table } from './tables.ts';

/** Rows read between two checks of the abort signal. */
const ROWS_AT_ONCE = 1_024;

/** Reads every row of a table. @param isDamagedTable whether SQLite found damage in its pages @throws errors that are not damage */
export async function checkRecords(
  store: DatabaseSync,
  table: Table,
  isDamagedTable: boolean,
  signal: AbortSignal,
): Promise<Finding | null> {
  const found = new Names();
  const scan = new TableScan(store, table);
  let rows = 0;
  for (const row of scan.rows()) {
    if (++rows % ROWS_AT_ONCE === 0) await yieldToAbort(signal);
    if (!isReadable(table.name, row)) found.add(nameOf(table, row));
  }
  const readable = rows - found.count;
  const isDamaged = isDamagedTable || scan.isDamaged;
  if (!isDamaged && found.count === 0) return null;
  const isAll = isDamaged ? await addUnreachable(store, table, found, signal) : true;
  return {
    code: 'records_damaged',
    table: table.name,
    detail:
      `${wordsOf(table.name)} that cannot be read: ` +
      (isAll && found.count > 0 ? found.count : found.count > 0 ? `${found.count} or more` : 'nobody can say how many') +
      `; ${readable} can`,
    names: found.names,
    count: isAll && found.count > 0 ? found.count : null,
    remedy: 'backup',
  };
}

/** Adds keys that an index names but no row has. Returns false when no index is complete. */
async function addUnreachable(store: DatabaseSync, table: Table, found: Names, signal: AbortSignal): Promise<boolean> {
  if (table.label === null) return false;
  const { column, index } = table.label;
  const find = store.prepare(`SELECT * FROM "${table.name}" WHERE rowid = ?`);
  let looked = 0;
  try {
    for (const { name, n } of store
      .prepare(`SELECT "${column}" AS name, rowid AS n FROM "${table.name}" INDEXED BY "${index}"`)
      .iterate()) {
      if (++looked % ROWS_AT_ONCE === 0) await yieldToAbort(signal);
      if (!isReached(() => find.get(n as number))) found.add(String(name));
    }
    return true;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}

/** Lets abort signals arrive. @throws the reason of an abort */
export async function yieldToAbort(signal: AbortSignal): Promise<void> {
  await setImmediate();
  signal.throwIfAborted();
}

function isReached(read: () => Row | undefined): boolean {
  try {
    return read() !== undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return false;
  }
}

function nameOf({ label, key }: Table, row: Row): string {
  if (label !== null && row[label.column] !== null) return String(row[label.column]);
  return key
    .map((column) =>
      row[column] instanceof Uint8Array ? Buffer.from(row[column]).toString('hex').slice(0, 16) : `${column} ${String(row[column])}`,
    )
    .join(', ');
}
