/** The tables of a store: their names for the operator, their keys, and which tables are derived from others. */
import { textsOf } from '../../calls/answer-rows.ts';
import { toRow as verificationOf } from '../../verify/verification-rows.ts';
import type { DatabaseSync } from 'node:sqlite';
import { unpackBody } from '../../webhooks/delivery-rows.ts';

export type Row = Readonly<Record<string, unknown>>;

/** Tables of search, derived from people, companies and signals. */
export const SEARCH_TABLES: readonly string[] = [
  'person_terms',
  'person_postings',
  'person_term_lists',
  'company_terms',
  'company_postings',
  'domains',
  'employers',
  'person_times',
  'person_ranks',
  'person_name_heads',
  'person_name_tails',
  'person_id_heads',
  'person_id_tails',
  'company_sizes',
  'alias_companies',
];
/** Other keys of records, derived from people and companies. */
export const KEY_TABLES: readonly string[] = ['other_addresses', 'other_keys', 'other_numbers', 'domain_aliases'];
/** Rebuilt from nothing: sums, the workers of batch jobs, and how the two files belong together. */
const PASSING_TABLES: readonly string[] = ['batch_bytes', 'batch_lease', 'books_state', 'directory_state'];

/** Tables without data of their own. They are rebuilt from the other tables, without a backup. */
export function isDerived(table: string): boolean {
  return [SEARCH_TABLES, KEY_TABLES, PASSING_TABLES].some((tables) => tables.includes(table));
}

/** The plural name of one row, by table. */
const WORDS: Readonly<Record<string, string>> = {
  people: 'people',
  companies: 'companies',
  signals: 'signals',
  sources: 'sources of records',
  suppressions: 'erasures',
  keys: 'API keys',
  answers: 'requests with an Idempotency-Key',
  answer_blocks: 'answers kept for their Idempotency-Key, several a row',
  verifications: 'asynchronous verifications',
  deliveries: 'addresses with what became of mails to them',
  batches: 'batch jobs',
  batch_files: 'files of batch jobs',
  webhooks: 'webhooks',
  signal_keys: 'digests by which an erasure finds signals',
  webhook_deliveries: 'deliveries to webhooks',
  job_changes: 'changes of jobs',
};

/** The plural name of the rows of a table. */
export function wordsOf(table: string): string {
  return WORDS[table] ?? (SEARCH_TABLES.includes(table) ? 'what search looks into' : `rows of ${table}`);
}

/** A table with its keys. */
export interface Table {
  readonly name: string;
  readonly columns: readonly string[];
  /** Columns that order the rows: `rowid` when the table has one, else the primary key. */
  readonly key: readonly string[];
  /** Columns of its primary key. */
  readonly identity: readonly string[];
  /** The column that names a record to an operator, with its index; null when there is none. */
  readonly label: { readonly column: string; readonly index: string } | null;
}

const LABELS: Readonly<Record<string, string>> = { companies: 'domain', sources: 'name' };

/** The tables by `sqlite_schema` and SQLite's pragmas. @throws SQLite's errors for a damaged schema */
export function tablesOf(store: DatabaseSync): Table[] {
  const names = store
    .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    .all();
  const isKeyed = store.prepare("SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = ?");
  const columnsOf = store.prepare('SELECT name, pk FROM pragma_table_info(?) ORDER BY cid');
  const indexOn = store.prepare(
    'SELECT list.name FROM pragma_index_list(?1) AS list WHERE "unique" ' +
      'AND (SELECT group_concat(name) FROM pragma_index_info(list.name)) = ?2',
  );
  return names.map(({ name }) => {
    const columns = columnsOf.all(name as string);
    const key = columns
      .filter(({ pk }) => pk !== 0)
      .toSorted((one, other) => Number(one['pk']) - Number(other['pk']))
      .map((column) => column['name'] as string);
    const column = LABELS[name as string] ?? 'id';
    const index = indexOn.get(name as string, column)?.['name'];
    const hasKey = isKeyed.get(name as string)?.['wr'] === 1;
    return {
      name: name as string,
      columns: columns.map((one) => one['name'] as string),
      key: hasKey ? key : ['rowid'],
      identity: key,
      label: hasKey || typeof index !== 'string' ? null : { column, index },
    };
  });
}

const json =
  (...columns: readonly string[]) =>
  (row: Row): void => {
    for (const column of columns) if (row[column] !== null && row[column] !== undefined) JSON.parse(row[column] as string);
  };

/** Reads the packed and JSON columns of a row. @throws when one cannot be read */
const READERS: Readonly<Record<string, (row: Row) => unknown>> = {
  people: json('doc', 'field_sources'),
  companies: json('doc', 'field_sources', 'shown_signals'),
  signals: json('doc', 'field_sources'),
  job_changes: json('doc'),
  batches: json('request', 'times', 'reason', 'header'),
  webhooks: json('events', 'filter'),
  answers: json('headers', 'named'),
  answer_blocks: textsOf,
  verifications: verificationOf,
  webhook_deliveries: ({ body }) => {
    if (unpackBody(body as Uint8Array) === null) throw new Error('the body cannot be unpacked');
  },
};

/** Whether every column of a row can be read. */
export function isReadable(table: string, row: Row): boolean {
  try {
    READERS[table]?.(row);
    return true;
  } catch {
    return false;
  }
}
