/** Rows into a store, as `millrace import` puts them there. */
import { ALIASES, plainName } from '../../src/reader/aliases.ts';
import type { ImportCounts, Rejection } from '../../src/service/import/counts.ts';
import { importRows } from '../../src/service/import/import-rows.ts';
import type { ImportKind } from '../../src/service/import/names.ts';
import { rowPreparer, type ImportRow, type PreparedBatch } from '../../src/service/import/prepared-rows.ts';
import { readerOf } from '../../src/service/import/row-values.ts';
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
  readonly expectsNews?: boolean;
}

export async function load(store: Store, rows: readonly (readonly string[])[] | readonly SparseRecord[], { kind = 'contacts', name = 'crm.csv', columns = {}, asOf = '2026-01-01', nowMs = Date.parse('2026-06-01'), expectsNews = true }: Given = {}): Promise<{ counts: ImportCounts; rejected: Rejection[] }> {
  const rejected: Rejection[] = [];
  const isTable = Array.isArray(rows[0]);
  const given = (isTable ? rows.slice(1) : rows).map((row, index): ImportRow => ({ line: index + 2, cells: isTable ? (row as readonly string[]) : null, object: isTable ? null : (JSON.parse(JSON.stringify(row)) as SparseRecord), bad: null, surplus: false, size: 100 }));
  const header = isTable ? (rows[0] as readonly string[]) : [];
  const reader = readerOf(kind, new Map(Object.entries(columns)), ALIASES, plainName);
  const preparer = rowPreparer({ kind, header, reader, asOfMs: asOf === null ? null : Date.parse(asOf), nowMs, expectsNews: () => expectsNews });
  for (const row of given) preparer.add(row);
  const file = { name, header, batches: (async function* () { yield preparer.take(); })(), expect: () => undefined };
  const counts = await importRows(store, file, { nowMs, signal: new AbortController().signal, onReject: (some) => rejected.push(...some) });
  return { counts, rejected };
}

/** Contacts made ready to be written. */
export function prepared(contacts: readonly SparseRecord[]): PreparedBatch {
  const nowMs = Date.parse('2026-06-01');
  const preparer = rowPreparer({ kind: 'contacts', header: [], reader: readerOf('contacts', new Map(), ALIASES, plainName), asOfMs: null, nowMs, expectsNews: () => true });
  for (const [index, contact] of contacts.entries()) preparer.add({ line: index + 1, cells: null, object: { ...contact }, bad: null, surplus: false, size: 100 });
  return preparer.take();
}
