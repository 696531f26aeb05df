import type { RowGroupNote } from '../formats/parquet/row-groups.ts';
import type { Position } from '../formats/input-record.ts';
import type { ResumeState } from '../storage/storage.ts';
import { EMPTY_TALLY, type Tally } from './tally.ts';

/** A resume point: everything before it is in the unfinished files, everything after it is written again. Plain JSON. */
export interface ResumePoint {
  /** The position of the first record that is not written. Null at the beginning. */
  readonly position: Position | null;
  /** Bytes of the unfinished output. */
  readonly bytes: number;
  /** Bytes of the unfinished errors file. */
  readonly errorBytes: number;
  readonly tally: Tally;
  /** Parquet only: the row groups of the unfinished output. */
  readonly groups?: readonly RowGroupNote[];
  /** How to reopen the two files: the state of their digests, and in S3 their parts. */
  readonly kept?: ResumeStates;
}

export interface ResumeStates {
  readonly output?: ResumeState;
  readonly errors?: ResumeState;
}

export const START_MARK: ResumePoint = { position: null, bytes: 0, errorBytes: 0, tally: EMPTY_TALLY };

/** The resume states as a part of the checkpoint; an empty object when both are undefined. */
export function resumeStates(output: ResumeState | undefined, errors: ResumeState | undefined): { readonly kept?: ResumeStates } {
  if (output === undefined && errors === undefined) return {};
  return { kept: { ...(output === undefined ? {} : { output }), ...(errors === undefined ? {} : { errors }) } };
}
