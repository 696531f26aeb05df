import type { Position } from '../reader/types.ts';
import { EMPTY_TALLY, type Tally } from './tally.ts';

/** Where a resume starts: everything before it is in the partial files, nothing after it is kept. Plain JSON. */
export interface Mark {
  /** The first record that is not written; null: the beginning. */
  readonly position: Position | null;
  /** Length of the partial output. */
  readonly bytes: number;
  /** Length of the partial errors file. */
  readonly errorBytes: number;
  readonly tally: Tally;
}

export const START_MARK: Mark = { position: null, bytes: 0, errorBytes: 0, tally: EMPTY_TALLY };
