/** Loads rows into a store as `millrace import` does. */
import { CompanyTexts } from '../../src/service/admin/import/company-texts.ts';
import type { ImportCounts, Rejection } from '../../src/service/admin/import/import-counts.ts';
import { storeRows } from '../../src/service/admin/import/store-rows.ts';
import type { ImportKind } from '../../src/service/admin/import/column-names.ts';
import { readOrders, rowNormaliser, type ParsedRow, type NormalisedBatch } from '../../src/service/admin/import/normalise-rows.ts';
import { DateOrders } from '../../src/service/records/date-orders.ts';
import { rowMapperOf } from '../../src/service/admin/import/map-row.ts';
import type { SparseRecord } from '../../src/service/records/whole-record.ts';
import { openStore } from '../../src/service/store/open-store.ts';
import type { Store } from '../../src/service/store/store.ts';
import { copyStore } from './harness.ts';

const leaveEmpty = (): void => undefined;

export async function emptyStore(): Promise<Store> {
  return openStore(await copyStore(leaveEmpty));
}

export interface Given {
  readonly kind?: ImportKind;
  readonly name?: string;
  readonly columns?: Record<string, string>;
  /** Null when not given. */
  readonly asOf?: string | null;
  readonly nowMs?: number;
  readonly expectsNew?: boolean;
}

export async function load(
  store: Store,
  rows: readonly (readonly string[])[] | readonly SparseRecord[],
  {
    kind = 'contacts',
    name = 'crm.csv',
    columns = {},
    asOf = '2026-01-01',
    nowMs = Date.parse('2026-06-01'),
    expectsNew = true,
  }: Given = {},
): Promise<{ counts: ImportCounts; rejected: Rejection[] }> {
  const rejected: Rejection[] = [];
  const { parse } = new CompanyTexts();
  const isTable = Array.isArray(rows[0]);
  const given = (): ParsedRow[] =>
    (isTable ? rows.slice(1) : rows).map((row, index): ParsedRow => ({
      line: index + 2,
      cells: isTable ? (row as readonly string[]) : null,
      object: isTable ? null : (parse(JSON.stringify(row)) as SparseRecord),
      bad: null,
      surplus: false,
      size: 100,
    }));
  const header = isTable ? (rows[0] as readonly string[]) : [];
  const mapper = rowMapperOf(kind, new Map(Object.entries(columns)));
  const orders = new DateOrders();
  const options = {
    kind,
    header,
    mapper,
    asOfMs: asOf === null ? null : Date.parse(asOf),
    nowMs,
    orders,
    expectsNew: () => expectsNew,
  };
  const normaliser = rowNormaliser(options);
  for (const [at, row] of given().entries()) {
    if (normaliser.add(row)) continue;
    await readOrders(
      orders,
      options,
      (async function* () {
        yield given();
      })(),
    );
    normaliser.add(given()[at] as ParsedRow);
  }
  const file = {
    name,
    header,
    batches: (async function* () {
      yield normaliser.take();
    })(),
    expect: () => undefined,
  };
  const counts = await storeRows(store, file, { nowMs, signal: new AbortController().signal, onReject: (some) => rejected.push(...some) });
  return { counts, rejected };
}

/** A batch of normalised contacts. */
export function normalised(contacts: readonly SparseRecord[]): NormalisedBatch {
  const nowMs = Date.parse('2026-06-01');
  const normaliser = rowNormaliser({
    kind: 'contacts',
    header: [],
    mapper: rowMapperOf('contacts', new Map()),
    asOfMs: null,
    nowMs,
    expectsNew: () => true,
  });
  for (const [index, contact] of contacts.entries())
    normaliser.add({ line: index + 1, cells: null, object: { ...contact }, bad: null, surplus: false, size: 100 });
  return normaliser.take();
}
