/** SQLite's own integrity check: damaged pages, and indexes that disagree with their table. */
import type { DatabaseSync } from 'node:sqlite';
import { yieldToAbort } from './record-check.ts';
import { isDamage } from './scan.ts';

/** The damage of one table. */
export interface TableDamage {
  readonly table: string;
  /** Rows are damaged, and not only indexes. */
  readonly hasDamagedRows: boolean;
  readonly indexes: readonly string[];
}

/** SQLite's messages after which it stops checking a table. */
const MAX_MESSAGES = 200;

/** @returns the damaged tables; empty when SQLite finds no damage @throws errors that are not damage */
export async function damagedTables(
  store: DatabaseSync,
  tables: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly damaged: readonly TableDamage[]; readonly others: readonly string[] }> {
  const all = messagesOf(store, `integrity_check(${MAX_MESSAGES})`);
  if (all.length === 0) return { damaged: [], others: [] };
  const damaged: TableDamage[] = [];
  for (const table of tables) {
    await yieldToAbort(signal);
    const damage = damageOf(store, table);
    if (damage !== null) damaged.push(damage);
  }
  // Such as unused pages. They are reported once, for the file.
  return { damaged, others: damaged.length > 0 ? [] : all };
}

function damageOf(store: DatabaseSync, table: string): TableDamage | null {
  const messages = messagesOf(store, `integrity_check("${table}")`);
  if (messages.length === 0) return null;
  const trees = new Map(
    store
      .prepare('SELECT rootpage, name, type FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0')
      .all(table)
      .map(({ rootpage, name, type }) => [Number(rootpage), { name: name as string, type }]),
  );
  const indexes = new Set<string>();
  let [hasDamagedRows, isOther] = [false, false];
  for (const message of messages) {
    const root = /^Tree (\d+) /m.exec(message)?.[1];
    const tree = root === undefined ? undefined : trees.get(Number(root));
    const index = tree?.type === 'index' ? tree.name : /\bindex (\S+)$/.exec(message)?.[1];
    if (index !== undefined) indexes.add(index);
    else if (tree !== undefined) hasDamagedRows = true;
    else isOther = true;
  }
  // A message that names no index is about rows: a value has the wrong type, or is missing.
  return { table, hasDamagedRows: hasDamagedRows || (isOther && indexes.size === 0), indexes: [...indexes] };
}

/** The messages of a check; at least one when damage ended it early. */
function messagesOf(store: DatabaseSync, pragma: string): string[] {
  const messages: string[] = [];
  try {
    for (const row of store.prepare(`PRAGMA ${pragma}`).iterate()) messages.push(String(Object.values(row)[0]));
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (messages.length === 0) messages.push('database disk image is malformed');
  }
  return messages.filter((message) => message !== 'ok');
}
