/** Rows into a store, as `millrace import` puts them there. */
import { ALIASES, plainName } from '../../src/reader/aliases.ts';
import type { ImportCounts, Rejection } from '../../src/service/import/counts.ts';
import { importRows, type ImportRow } from '../../src/service/import/import-rows.ts';
import { nameTable, type ImportKind } from '../../src/service/import/names.ts';
import { rowReader } from '../../src/service/import/row-values.ts';
import type { SparseRecord } from '../../src/service/records.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { temporaryFolder } from './harness.ts';

export async function emptyStore(): Promise<Store> {
  return openStore(`${await temporaryFolder()}/store.sqlite`);
}

export interface Given {
  readonly kind?: ImportKind;
  readonly name?: string;
  readonly columns?: Record<string, string>;
  /** Null: not said. */
  readonly asOf?: string | null;
  readonly nowMs?: number;
}

export async function load(store: Store, rows: readonly (readonly string[])[] | readonly SparseRecord[], { kind = 'contacts', name = 'crm.csv', columns = {}, asOf = '2026-01-01', nowMs = Date.parse('2026-06-01') }: Given = {}): Promise<{ counts: ImportCounts; rejected: Rejection[] }> {
  const rejected: Rejection[] = [];
  const isTable = Array.isArray(rows[0]);
  const given = (isTable ? rows.slice(1) : rows).map((row, index): ImportRow => ({ line: index + 2, cells: isTable ? (row as readonly string[]) : null, json: isTable ? null : JSON.stringify(row), bad: null }));
  const counts = await importRows(
    store,
    { name, header: isTable ? (rows[0] as readonly string[]) : [], batches: (async function* () { yield given; })() },
    { kind, reader: rowReader(nameTable(kind, ALIASES, plainName), plainName, new Map(Object.entries(columns))), asOfMs: asOf === null ? null : Date.parse(asOf), nowMs, signal: new AbortController().signal, onReject: (some) => rejected.push(...some) },
  );
  return { counts, rejected };
}
