/** The contract of a storage for a job's own files. Disk and S3 look alike behind it; no caller asks which one it is. Types only. */
import type { Fence } from './fence.ts';

/** A position in a file that is being written. */
export interface WritePosition {
  /** Bytes before the position. */
  readonly bytes: number;
  /** A digest of those bytes that another process can continue. Each storage has its own kind. */
  readonly sha?: string;
}

/** One S3 object of an unfinished file. */
export interface StoredPart {
  /** The name after `<file>.partial.`, or the uri of an object of another file. */
  readonly name: string;
  /** The version of an object of another file. */
  readonly version?: string;
  /** The offset in the object at which the part's bytes begin. Left out when it is 0. */
  readonly at?: number;
  readonly bytes: number;
  /** The ETag of an object that this job wrote. */
  readonly etag?: string;
}

/** The state that a resume of an unfinished file needs beside its name. Plain JSON, stored in the checkpoint. */
export interface ResumeState {
  readonly parts: readonly StoredPart[];
  /** See `WritePosition`. */
  readonly sha: string;
  /** The digest at the beginning of the last part, against which its bytes are checked when they are read again. */
  readonly before?: string;
}

/** A finished file as the run that finished it described it. */
interface FinishedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** The ETag of an object, which makes reading it unnecessary. */
  readonly version?: string | undefined;
}

/** A range of a finished file, and the version of the file when it was read. */
export interface FinishedRange {
  readonly path: string;
  /** See `FinishedFile`. */
  readonly version: string;
  readonly at: number;
  readonly bytes: number;
}

/** A file that grows under another name and gets its own name when it is complete. After the first failure every call throws it. */
export interface GrowingFile {
  /** Bytes appended so far, written or not. */
  readonly size: number;
  append(bytes: Buffer): void;
  /**
   * Appends bytes of another file, which arrive as `chunks`. A storage that can copy does not write them, so the other file must not change
   * before the commit. Call no other method before this resolves.
   * @throws StorageError; MillraceError 75 when the job was lost; the errors of `chunks`
   */
  appendFrom(source: FinishedRange, chunks: AsyncIterable<Buffer>): Promise<void>;
  /** Back-pressure: null when the caller may go on, else a promise of that. @throws StorageError when a write failed */
  room(): Promise<void> | null;
  /** The position of the next byte. */
  position(): WritePosition;
  /** Makes everything appended so far durable. @throws StorageError */
  sync(): Promise<void>;
  /** The state that a checkpoint stores for a position that the last `sync` made durable. Undefined when the size suffices. */
  resumeState(at: WritePosition): ResumeState | undefined;
  /** Called when a checkpoint with this state is durable. Objects that only earlier checkpoints need are removed. Never throws. */
  settled(kept: ResumeState | undefined): Promise<void>;
  /** Hex digest of the whole, synced file. @throws StorageError also when the file differs from what was appended */
  sha256(): Promise<string>;
  /** Gives the complete and synced file its own name. @throws StorageError, or MillraceError 75 when the job was lost */
  commit(): Promise<void>;
  /** Drops the file, which then never gets its name. @throws StorageError, or MillraceError 75 when the job was lost */
  discard(): Promise<void>;
  /** Closes the file for a later resume. Never throws. */
  close(): Promise<void>;
}

/** Paths are absolute, or `s3://` uris. Failures are errors of the storage itself, unless they are MillraceErrors already. */
export interface Storage {
  exists(path: string): Promise<boolean>;
  /** Null when the file does not exist. A text longer than `mostBytes` may be refused. */
  readText(path: string, mostBytes: number): Promise<string | null>;
  /** Replaces a text completely or not at all. It never overwrites a text that a successor has written. */
  replaceText(path: string, text: string, fence: Fence): Promise<void>;
  /** Removes a file of the job if it exists, and never one that another run has put in its place. */
  remove(path: string, fence: Fence): Promise<void>;
  /** True when the file is still the one that a run has finished. */
  isUnchanged(path: string, was: FinishedFile): Promise<boolean>;
  /** The version of a file, without reading it. Undefined where the storage has no versions. */
  version(path: string): Promise<string | undefined>;

  /**
   * Opens an unfinished file at `size` bytes; later bytes are written again. `isFirst`: the job has never run, so an existing file belongs
   * to another job.
   * @throws StorageError also when the file is shorter; InputError 65 for another job's file; MillraceError 75 when the job was lost
   */
  open(path: string, size: number, kept: ResumeState | undefined, fence: Fence, isFirst?: boolean): Promise<GrowingFile>;
  /**
   * The flaw that keeps a run from resuming at `size` bytes, to follow the file's name, such as "is missing". Null without a flaw.
   * The bytes that a resume would read are compared.
   */
  flaw(path: string, size: number, kept: ResumeState | undefined): Promise<string | null>;
  /** The name of an unfinished file or one of its objects. Null when nothing exists. */
  unfinished(path: string): Promise<string | null>;
  /**
   * Turns the first bytes of a finished file into an unfinished one to resume from. The finished file stays; if it is missing, nothing is
   * created.
   */
  reopen(path: string, size: number, sha: string | undefined, fence: Fence): Promise<ResumeState | undefined>;
  /** Called when the file is finished and a checkpoint says so. Removes the objects that it was made of. Never throws. */
  dropUnfinished(path: string, fence: Fence): Promise<void>;

  /** Removes the temporary files and uploads by which earlier runs could still publish this name. Call it before anything is read. */
  sweep(path: string, fence: Fence): Promise<void>;
  /** Makes sure that a previous holder that wakes up cannot write into the unfinished file. */
  revokeUnfinished(path: string, fence: Fence): Promise<void>;
  /** Makes sure that a previous holder that wakes up cannot replace this text. */
  revokeText(path: string, fence: Fence): Promise<void>;
}
