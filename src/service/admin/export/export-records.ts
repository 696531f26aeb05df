/** Reads the records of a store from one snapshot, in the shape that `millrace import` accepts. */
import { shownTime } from '../../store/merge/observed-at.ts';
import { IMPORTED_COMPANY } from '../../records/company-fields.ts';
import type { Field } from '../../records/field.ts';
import { IMPORTED_PERSON } from '../../records/person-fields.ts';
import { withName } from '../../records/person-name.ts';
import type { SparseRecord } from '../../records/whole-record.ts';
import { readStored, timeText } from '../../store/rows/record-columns.ts';
import { stampOf } from '../../store/merge/merge.ts';
import { updatedAt } from '../../store/rows/person-row.ts';
import { storedPerson } from '../../store/rows/person-writer.ts';
import { sourceNames } from '../../store/rows/report-sources.ts';
import type { Store } from '../../store/store.ts';

/** The kinds that can be exported. Deliveries are not: they stay in the store as evidence. */
export type ExportKind = 'companies' | 'contacts' | 'signals';

const TABLES: Readonly<Record<ExportKind, string>> = { contacts: 'people', companies: 'companies', signals: 'signals' };
const PLACE = ['city', 'region', 'country', 'country_code', 'postal_code', 'lat', 'lng'];
const OBJECTS = ['location', 'hq'];

/** Columns of a table: fields with a single value, and the parts of a place. Nested values are in JSON lines only. */
export function tableColumns(kind: ExportKind): readonly string[] {
  const fitting = (fields: Readonly<Record<string, Field>>): string[] =>
    Object.keys(fields).filter((name) => !['object', 'objects'].includes(fields[name]?.type ?? ''));
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

/** The cells of a record under `columns`. Lists are joined by `;`, and unknown values are empty. */
export function tableCells(record: SparseRecord, columns: readonly string[]): string[] {
  return columns.map((column) => {
    const [outer = '', inner] = column.split('.');
    const value =
      column === 'domain' && typeof record['company'] === 'object'
        ? (record['company'] as SparseRecord)['domain']
        : inner !== undefined && OBJECTS.includes(outer)
          ? (record[outer] as SparseRecord | undefined)?.[inner]
          : record[column];
    if (value === undefined || value === null) return '';
    return Array.isArray(value) ? value.join(';') : toText(value);
  });
}

/** Every record of a kind, oldest first. With `withSources`, each record has the source and the time of its fields. */
export function* exportRecords(store: Store, kind: ExportKind, withSources: boolean): Generator<SparseRecord> {
  const names = sourceNames(store);
  for (const row of store.prepare(`SELECT * FROM ${TABLES[kind]} ORDER BY seq`).iterate()) {
    if (kind === 'signals') {
      yield JSON.parse(row['doc'] as string) as SparseRecord;
      continue;
    }
    const stored = kind === 'contacts' ? storedPerson(row) : readStored(row);
    const doc = kind === 'contacts' ? withName(stored.doc) : stored.doc;
    const updated = updatedAt(row['observed_at'] as number);
    const record = updated === null ? doc : { ...doc, updated_at: updated };
    if (!withSources) {
      yield record;
      continue;
    }
    const sources = Object.keys(stored.doc).map((field) => {
      const [source, atMs] = stampOf(stored, field);
      return [field, { source: names.get(source) ?? null, at: timeText(shownTime(atMs)) }] as const;
    });
    yield { ...record, sources: Object.fromEntries(sources) };
  }
}

function toText(value: unknown): string {
  return typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : JSON.stringify(value);
}
