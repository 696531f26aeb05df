/** The files that a run writes row by row: the output, and beside it files with a line for each row of a kind. Pure. */
import { SIDE_FILES, type SideFile } from '../definition/output-shape.ts';
import type { ResumeState, WritePosition } from '../storage/storage.ts';

/** In the order in which they take their names. A file of lines without a line takes none. */
export const ROW_FILES = ['output', ...SIDE_FILES] as const;
export type RowFile = (typeof ROW_FILES)[number];

/** How to reopen each file: the state of its digest, and in S3 its parts. */
export type ResumeStates = Readonly<Partial<Record<RowFile, ResumeState>>>;

/** Bytes of each file. `openBytes` is left out for 0. */
export interface RowFileSizes {
  readonly bytes: number;
  readonly errorBytes: number;
  readonly openBytes?: number;
}

/** The finished files. Digests in hex; that of `open` is left out while it has no line. */
export interface FinishedFiles extends RowFileSizes {
  readonly sha256: string;
  readonly errorsSha256: string;
  readonly openSha256?: string;
  /** How to reopen the files while they lack their final names. */
  readonly kept?: ResumeStates;
  /** Versions of the published objects in S3. */
  readonly versions?: Readonly<Partial<Record<RowFile, string | undefined>>>;
}

export function sizeOf({ bytes, errorBytes, openBytes = 0 }: RowFileSizes, which: RowFile): number {
  return { output: bytes, errors: errorBytes, open: openBytes }[which];
}

/** The sizes under the names of a checkpoint. */
export function sizesOf(sizes: Readonly<Record<RowFile, number>>): RowFileSizes {
  const { output: bytes, errors: errorBytes, open: openBytes } = sizes;
  return { bytes, errorBytes, ...(openBytes === 0 ? {} : { openBytes }) };
}

/** One of the finished files. */
export function finishedFile(
  files: FinishedFiles,
  which: RowFile,
): { readonly bytes: number; readonly sha256: string; readonly version: string | undefined } {
  const { sha256, errorsSha256, openSha256 = '', versions } = files;
  return {
    bytes: sizeOf(files, which),
    sha256: { output: sha256, errors: errorsSha256, open: openSha256 }[which],
    version: versions?.[which],
  };
}

/** The digests under the names of a checkpoint. */
export function digestsOf(
  digests: Readonly<Record<RowFile, string>>,
  { openBytes = 0 }: RowFileSizes,
): Pick<FinishedFiles, 'sha256' | 'errorsSha256' | 'openSha256'> {
  const { output: sha256, errors: errorsSha256, open: openSha256 } = digests;
  return { sha256, errorsSha256, ...(openBytes === 0 ? {} : { openSha256 }) };
}

/** The resume states as a part of the checkpoint; an empty object when none of the files has one. */
export function resumeStates(states: Readonly<Partial<Record<RowFile, ResumeState | undefined>>>): { readonly kept?: ResumeStates } {
  const kept = withoutGaps(states);
  return Object.keys(kept).length === 0 ? {} : { kept };
}

/** The entries that have a value. */
export function withoutGaps<T>(of: Readonly<Partial<Record<RowFile, T | undefined>>>): Readonly<Partial<Record<RowFile, T>>> {
  return Object.fromEntries(ROW_FILES.flatMap((which) => (of[which] === undefined ? [] : [[which, of[which]]])));
}

/** Where each file of lines is; a file that is not written has no position. */
export type SidePositions = Readonly<Partial<Record<SideFile, WritePosition>>>;
