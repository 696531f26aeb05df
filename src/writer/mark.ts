import type { Position } from '../reader/types.ts';
import type { KeptFile } from '../storage/storage.ts';
import { EMPTY_TALLY, type Tally } from './tally.ts';

/** Where a resume starts: everything before it is in the unfinished files, nothing after it is kept. Plain JSON. */
export interface Mark {
  /** The first record that is not written; null: the beginning. */
  readonly position: Position | null;
  /** Length of the unfinished output. */
  readonly bytes: number;
  /** Length of the unfinished errors file. */
  readonly errorBytes: number;
  readonly tally: Tally;
  /** What else must be known of the two: nothing of files on a disk. */
  readonly kept?: KeptFiles;
}

export interface KeptFiles {
  readonly output?: KeptFile;
  readonly errors?: KeptFile;
}

export const START_MARK: Mark = { position: null, bytes: 0, errorBytes: 0, tally: EMPTY_TALLY };

/** As a part of what a checkpoint says; nothing where nothing is kept. */
export function keptFiles(output: KeptFile | undefined, errors: KeptFile | undefined): { readonly kept?: KeptFiles } {
  if (output === undefined && errors === undefined) return {};
  return { kept: { ...(output === undefined ? {} : { output }), ...(errors === undefined ? {} : { errors }) } };
}
