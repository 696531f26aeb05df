/** Converts a merged record to and from its columns. */
import type { SparseRecord } from '../../records/whole-record.ts';
import type { MergeState, MergedRecord } from '../merge/merge.ts';

/**
 * @param row the columns `doc`, `source`, `observed_at` and `field_sources`
 * @param more fields of the record that have columns of their own
 */
export function readStored(row: Readonly<Record<string, unknown>>, more: SparseRecord = {}): MergedRecord {
  const { mergeState, ...others } = JSON.parse((row['field_sources'] as string | null) ?? '{}') as MergedRecord['others'] &
    Pick<MergedRecord, 'mergeState'>;
  return {
    doc: Object.assign(JSON.parse(row['doc'] as string) as Record<string, unknown>, more),
    base: { source: row['source'] as number, atMs: row['observed_at'] as number },
    others,
    ...(mergeState === undefined ? {} : { mergeState }),
  };
}

/** The merge state of a row. */
export function mergeStateOf(row: Readonly<Record<string, unknown>>): MergeState {
  const sources = row['field_sources'] as string | null;
  return sources === null ? {} : ((JSON.parse(sources) as Pick<MergedRecord, 'mergeState'>).mergeState ?? {});
}

/** The column `field_sources`; null if all fields have the record's own source and time, and there is no merge state. */
export function fieldSources({ others, mergeState }: Pick<MergedRecord, 'others' | 'mergeState'>): string | null {
  const sources = mergeState === undefined ? others : { ...others, mergeState };
  return Object.keys(sources).length === 0 ? null : JSON.stringify(sources);
}

/** RFC 3339 in UTC, without milliseconds if they are zero. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}
