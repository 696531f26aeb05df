/** What a store holds, record by record, as it was at one moment: in the shape in which `millrace import` takes it. */
import { IMPORTED_COMPANY } from '../records/company.ts';
import type { Field } from '../records/field.ts';
import { IMPORTED_PERSON } from '../records/person.ts';
import { withName } from '../person-name.ts';
import type { SparseRecord } from '../records.ts';
import { readKept, timeText } from '../store/kept-columns.ts';
import { stampOf } from '../store/merge.ts';
import { updatedAt } from '../store/person-row.ts';
import { keptPerson } from '../store/person-writer.ts';
import { sourceNames } from '../store/sources.ts';
import type { Store } from '../store/store.ts';

/** What can be written out: records. What became of mails stays, as evidence. */
export type ExportKind = 'companies' | 'contacts' | 'signals';

const TABLES: Readonly<Record<ExportKind, string>> = { contacts: 'people', companies: 'companies', signals: 'signals' };
const PLACE = ['city', 'region', 'country', 'country_code', 'postal_code', 'lat', 'lng'];
const OBJECTS = ['location', 'hq'];

/** Columns of a table: fields whose value fits a cell, and the parts of a place. What a cell cannot hold is in JSON lines only. */
export function tableColumns(kind: ExportKind): readonly string[] {
  const fitting = (fields: Readonly<Record<string, Field>>): string[] => Object.keys(fields).filter((name) => !['object', 'objects'].includes(fields[name]?.type ?? ''));
  switch (kind) {
    case 'contacts':
      return [...fitting(IMPORTED_PERSON), ...PLACE.map((part) => `location.${part}`)];
    case 'companies':
      return [...fitting(IMPORTED_COMPANY), ...PLACE.slice(0, 4).map((part) => `hq.${part}`)];
    case 'signals':
      return ['id', 'type', 'subtype', 'occurred_at', 'detected_at', 'confidence', 'source_url', 'domain'];
    default:
      return kind satisfies never;
  }
}

/** Cells of a record under `columns`: lists joined by `;`, what is not known empty. */
export function tableCells(record: SparseRecord, columns: readonly string[]): string[] {
  return columns.map((column) => {
    const [outer = '', inner] = column.split('.');
    const value = column === 'domain' && typeof record['company'] === 'object' ? (record['company'] as SparseRecord)['domain'] : inner !== undefined && OBJECTS.includes(outer) ? (record[outer] as SparseRecord | undefined)?.[inner] : record[column];
    if (value === undefined || value === null) return '';
    return Array.isArray(value) ? value.join(';') : toText(value);
  });
}

/** Every record of a kind, oldest first. `withSources`: each says which of its fields comes from where, and of when it is. */
export function* exportRecords(store: Store, kind: ExportKind, withSources: boolean): Generator<SparseRecord> {
  const names = sourceNames(store);
  for (const row of store.prepare(`SELECT * FROM ${TABLES[kind]} ORDER BY seq`).iterate()) {
    if (kind === 'signals') {
      yield JSON.parse(row['doc'] as string) as SparseRecord;
      continue;
    }
    const kept = kind === 'contacts' ? keptPerson(row) : readKept(row);
    const known = kind === 'contacts' ? withName(kept.doc) : kept.doc;
    const updated = updatedAt(row['observed_at'] as number);
    const record = updated === null ? known : { ...known, updated_at: updated };
    if (!withSources) {
      yield record;
      continue;
    }
    const sources = Object.keys(kept.doc).map((field) => {
      const [source, atMs] = stampOf(kept, field);
      return [field, { source: names.get(source) ?? null, at: timeText(atMs) }] as const;
    });
    yield { ...record, sources: Object.fromEntries(sources) };
  }
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value : typeof value === 'number' || typeof value === 'boolean' ? String(value) : JSON.stringify(value);
}
