import type { RowGroupNote } from '../formats/parquet/row-groups.ts';
import type { Position } from '../formats/input-record.ts';
import type { ResumeStates, RowFileSizes } from './row-files.ts';
import { EMPTY_TALLY, type Tally } from './tally.ts';

/** A resume point: everything before it is in the unfinished files, everything after it is written again. Plain JSON. */
export interface ResumePoint extends RowFileSizes {
  /** The position of the first record that is not written. Null at the beginning. */
  readonly position: Position | null;
  readonly tally: Tally;
  /** Parquet only: the row groups of the unfinished output. */
  readonly groups?: readonly RowGroupNote[];
  /** How to reopen the unfinished files. */
  readonly kept?: ResumeStates;
}

export const START_MARK: ResumePoint = { position: null, bytes: 0, errorBytes: 0, tally: EMPTY_TALLY };
