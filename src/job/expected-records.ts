/** How many records a job has, as far as it is known: the one denominator of every share of it. Pure. */
import type { Checkpoint } from '../checkpoint/checkpoint-file.ts';
import type { InputManifest, Position } from '../reader/types.ts';
import { count } from './words.ts';

export interface ExpectedRecords {
  readonly records: number;
  /** False: estimated by the bytes of the records that were read. */
  readonly isExact: boolean;
}

export interface Seen {
  /** Records that were read, of all runs. */
  readonly records: number;
  /** Where the last of them ends; null: nothing was read. */
  readonly upTo: Position | null;
  readonly isAll: boolean;
  /** `limits.limit`; of a shard: the records it has. */
  readonly limit: number | null;
}

/** Null: nothing can be said yet, as at the start, or of an archive of one piece before its end. */
export function expectedRecords({ manifest, retry, shard }: Pick<Checkpoint, 'manifest' | 'retry' | 'shard'>, { records, upTo, isAll, limit }: Seen): ExpectedRecords | null {
  if (retry !== null) return { records: retry.before.result.tally.total, isExact: true };
  if (isAll) return { records, isExact: true };
  if (shard !== null && limit !== null) return { records: limit, isExact: true };
  const share = shareBefore(manifest, upTo);
  const estimate = share > 0 && records > 0 ? Math.max(records, Math.round(records / share)) : null;
  if (limit !== null && (estimate === null || estimate >= limit)) return { records: limit, isExact: records >= limit };
  return estimate === null ? null : { records: estimate, isExact: false };
}

/** Records that are written: of a retry, whose tally counts all rows from its start, those that it has come to. */
export function recordsDone({ retry }: Pick<Checkpoint, 'retry'>, rows: number, upTo: Position | null): number {
  return retry === null ? rows : (upTo?.finished?.rows ?? 0);
}

/** 0..1 */
export function shareDone(done: number, expected: ExpectedRecords | null): number {
  if (expected === null) return 0;
  return expected.records === 0 ? 1 : Math.min(1, done / expected.records);
}

/** `41 % of 2,500 records`, or `41 % of about 2,500 records`. */
export function shareWords(share: number, expected: ExpectedRecords | null): string {
  if (expected === null) return '0 % of the records';
  return `${Math.floor(share * 100)} % of ${expected.isExact ? '' : 'about '}${count(expected.records)} record${expected.records === 1 ? '' : 's'}`;
}

/** Share of the input's bytes before a position. In archives it goes by frames, and for a single one cannot say. */
export function shareBefore(manifest: InputManifest, position: Position | null): number {
  const all = manifest.files.reduce((sum, file) => sum + file.size, 0);
  return all === 0 ? 1 : Math.min(1, bytesBefore(manifest, position) / all);
}

/** The same in bytes, as the files have them. */
export function bytesBefore(manifest: InputManifest, position: Position | null): number {
  if (position === null) return 0;
  let before = 0;
  for (let i = 0; i < position.file; i++) before += manifest.files[i]?.size ?? 0;
  const file = manifest.files[position.file];
  if (file !== undefined) before += Math.min(file.size, file.compression === 'none' ? position.offset : (position.frame?.at ?? 0));
  return before;
}
