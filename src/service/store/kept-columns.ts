/** A merged record to and from the columns in which it is kept. */
import type { SparseRecord } from '../records.ts';
import type { Aside, KeptRecord } from './merge.ts';

/** @param row the columns `doc`, `source`, `observed_at` and `field_sources` @param more belongs to the record, and stands in another column */
export function readKept(row: Readonly<Record<string, unknown>>, more: SparseRecord = {}): KeptRecord {
  const { aside, ...others } = JSON.parse((row['field_sources'] as string | null) ?? '{}') as KeptRecord['others'] & Pick<KeptRecord, 'aside'>;
  return {
    doc: Object.assign(JSON.parse(row['doc'] as string) as Record<string, unknown>, more),
    base: { source: row['source'] as number, atMs: row['observed_at'] as number },
    others,
    ...(aside === undefined ? {} : { aside }),
  };
}

/** What of a record is kept beside it. */
export function asideOf(row: Readonly<Record<string, unknown>>): Aside {
  const sources = row['field_sources'] as string | null;
  return sources === null ? {} : ((JSON.parse(sources) as Pick<KeptRecord, 'aside'>).aside ?? {});
}

/** The column `field_sources`: null when every field is of the record's own source and time, and nothing is kept beside them. */
export function fieldSources({ others, aside }: Pick<KeptRecord, 'others' | 'aside'>): string | null {
  const sources = aside === undefined ? others : { ...others, aside };
  return Object.keys(sources).length === 0 ? null : JSON.stringify(sources);
}

/** RFC 3339, UTC, whole seconds where they are whole. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
