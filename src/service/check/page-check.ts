/** What SQLite itself finds in a store: damaged pages, and indexes that disagree with their table. */
import type { Store } from '../store/store.ts';
import { lookUp } from './record-check.ts';
import { isDamage } from './scan.ts';

/** What is hit in one table. */
export interface Hit {
  readonly table: string;
  /** Rows are hit, and not indexes alone. */
  readonly isTable: boolean;
  readonly indexes: readonly string[];
}

/** Messages of SQLite after which it stops looking at a table. */
const MAX_MESSAGES = 200;

/** @returns tables of which anything is hit; empty: SQLite finds nothing @throws what is no damage */
export async function hitTables(store: Store, tables: readonly string[], signal: AbortSignal): Promise<{ readonly hits: readonly Hit[]; readonly others: readonly string[] }> {
  const all = messagesOf(store, `integrity_check(${MAX_MESSAGES})`);
  if (all.length === 0) return { hits: [], others: [] };
  const hits: Hit[] = [];
  for (const table of tables) {
    await lookUp(signal);
    const hit = hitOf(store, table);
    if (hit !== null) hits.push(hit);
  }
  // Such as pages that nothing uses: they are told of once, of the file.
  return { hits, others: hits.length > 0 ? [] : all };
}

function hitOf(store: Store, table: string): Hit | null {
  const messages = messagesOf(store, `integrity_check("${table}")`);
  if (messages.length === 0) return null;
  const trees = new Map(store.prepare("SELECT rootpage, name, type FROM sqlite_schema WHERE tbl_name = ? AND rootpage > 0").all(table).map(({ rootpage, name, type }) => [Number(rootpage), { name: name as string, type }]));
  const indexes = new Set<string>();
  let [isTable, isOther] = [false, false];
  for (const message of messages) {
    const root = /^Tree (\d+) /m.exec(message)?.[1];
    const tree = root === undefined ? undefined : trees.get(Number(root));
    const index = tree?.type === 'index' ? tree.name : /\bindex (\S+)$/.exec(message)?.[1];
    if (index !== undefined) indexes.add(index);
    else if (tree !== undefined) isTable = true;
    else isOther = true;
  }
  // What is said of no index is of the rows: a value of another type, or one that may not be missing.
  return { table, isTable: isTable || (isOther && indexes.size === 0), indexes: [...indexes] };
}

/** What a check says, and that it could not go on. */
function messagesOf(store: Store, pragma: string): string[] {
  const messages: string[] = [];
  try {
    for (const row of store.prepare(`PRAGMA ${pragma}`).iterate()) messages.push(String(Object.values(row)[0]));
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (messages.length === 0) messages.push('database disk image is malformed');
  }
  return messages.filter((message) => message !== 'ok');
}
