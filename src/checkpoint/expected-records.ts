/** The number of records of a job, as far as it is known. Every share of the job is computed from it. Pure. */
import type { Checkpoint, ExpectedRecords } from './checkpoint-file.ts';
import type { InputManifest, Position } from '../formats/input-record.ts';
import { count } from '../util/display.ts';

export interface Seen {
  /** Records read, by all runs. */
  readonly records: number;
  /** The end of the last record read. Null before the first one. */
  readonly upTo: Position | null;
  readonly isAll: boolean;
  /** `limits.limit`; for a shard, its number of records. */
  readonly limit: number | null;
}

/** Null while no estimate exists: at the start, and before the end of an archive with a single frame. */
export function expectedRecords(
  { manifest, retry, shard }: Pick<Checkpoint, 'manifest' | 'retry' | 'shard'>,
  { records, upTo, isAll, limit }: Seen,
): ExpectedRecords | null {
  if (retry !== null) return { records: retry.before.result.tally.total, isExact: true };
  if (isAll) return { records, isExact: true };
  if (shard !== null && limit !== null) return { records: limit, isExact: true };
  const stated = statedRecords(manifest);
  if (stated !== null) return { records: Math.min(stated, limit ?? stated), isExact: true };
  const share = shareBefore(manifest, upTo);
  const estimate = share > 0 && records > 0 ? Math.max(records, Math.round(records / share)) : null;
  if (limit !== null && (estimate === null || estimate >= limit)) return { records: limit, isExact: records >= limit };
  return estimate === null ? null : { records: estimate, isExact: false };
}

/** The records that Parquet files state; null for other formats. */
function statedRecords({ files }: InputManifest): number | null {
  if (files.length === 0 || files.some(({ rows }) => rows === undefined)) return null;
  return files.reduce((sum, { rows = 0 }) => sum + rows, 0);
}

/** Records written. A retry's tally counts all rows from its start, so for a retry it is the records that it has reached. */
export function recordsDone({ retry }: Pick<Checkpoint, 'retry'>, rows: number, upTo: Position | null): number {
  return retry === null ? rows : (upTo?.finished?.rows ?? 0);
}

/** A share between 0 and 1. */
export function shareDone(done: number, expected: ExpectedRecords | null): number {
  if (expected === null) return 0;
  return expected.records === 0 ? 1 : Math.min(1, done / expected.records);
}

/** `41 % of 2,500 records`, or `41 % of about 2,500 records`. */
export function formatShare(share: number, expected: ExpectedRecords | null): string {
  if (expected === null) return '0 % of the records';
  return (
    `${Math.floor(share * 100)} % of ${expected.isExact ? '' : 'about '}${count(expected.records)} ` +
    `record${expected.records === 1 ? '' : 's'}`
  );
}

/** The share of the input's bytes before a position. In archives it grows by frames; a single frame gives no share. */
export function shareBefore(manifest: InputManifest, position: Position | null): number {
  const all = manifest.files.reduce((sum, file) => sum + file.size, 0);
  return all === 0 ? 1 : Math.min(1, bytesBefore(manifest, position) / all);
}

/** The same in bytes of the files. */
export function bytesBefore(manifest: InputManifest, position: Position | null): number {
  if (position === null) return 0;
  let before = 0;
  for (let i = 0; i < position.file; i++) before += manifest.files[i]?.size ?? 0;
  const file = manifest.files[position.file];
  if (file !== undefined) before += Math.min(file.size, bytesInFile(file, position));
  return before;
}

/** Parquet counts rows, which are about alike in bytes. */
function bytesInFile({ size, rows, compression }: InputManifest['files'][number], { offset, frame }: Position): number {
  if (rows !== undefined) return rows === 0 ? size : (size * offset) / rows;
  return compression === 'none' ? offset : (frame?.at ?? 0);
}
