/** Where a job's own files lie: the one contract behind which a disk and S3 look alike. Nothing above asks which it is. Types only. */
import type { Fence } from '../checkpoint/fence.ts';

/** A place in a file that is being written. */
export interface Here {
  /** What stands before it. */
  readonly bytes: number;
  /** A digest of that, with which another process can go on; each storage has its own kind. */
  readonly sha?: string;
}

/** One object of those that an unfinished file in S3 is made of. */
export interface KeptPart {
  /** After `<file>.partial.`; of an object that is another file, its uri. */
  readonly name: string;
  /** Of another file: what tells it from any other. */
  readonly version?: string;
  /** Where in the object its bytes begin, when that is not the beginning. */
  readonly at?: number;
  readonly bytes: number;
  /** Of an object that this job wrote: its ETag. */
  readonly etag?: string;
}

/** What must be known to go on with an unfinished file, where its name does not say it all. Plain JSON, for the checkpoint. */
export interface KeptFile {
  readonly parts: readonly KeptPart[];
  /** See `Here`. */
  readonly sha: string;
  /** The same where the last part begins, by which its bytes are checked when they are read again. */
  readonly before?: string;
}

/** What a run said that a file is, when it was whole. */
export interface FinishedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** Tells the object from any other, so that it need not be read: its ETag. */
  readonly version?: string | undefined;
}

/** Bytes of a file that is finished, and the one that it was when they were read. */
export interface FinishedRange {
  readonly path: string;
  /** See `FinishedFile`. */
  readonly version: string;
  readonly at: number;
  readonly bytes: number;
}

/** A file that grows under another name and gets its own when it is whole. The first failure sticks. */
export interface GrowingFile {
  /** Bytes appended so far, written or not. */
  readonly size: number;
  append(bytes: Buffer): void;
  /**
   * Appends bytes of another file, which come as `chunks`. A storage that can copy by itself does not write them: until
   * this file has its name, the other one must stay as it is. Nothing else may be asked of the file meanwhile.
   * @throws StorageError, 75 when the job was lost, what reading the chunks throws
   */
  appendFrom(source: FinishedRange, chunks: AsyncIterable<Buffer>): Promise<void>;
  /** Back-pressure: null when more is welcome, else a promise of that. @throws StorageError when a write failed */
  room(): Promise<void> | null;
  /** Where the next byte goes. */
  here(): Here;
  /** Everything appended so far is durable when this resolves. @throws StorageError */
  sync(): Promise<void>;
  /** What a checkpoint must say to go on from a place that the last `sync` made durable. Undefined: nothing but its size. */
  kept(here: Here): KeptFile | undefined;
  /** A checkpoint that says so is durable: what only those before it needed may go. Never throws. */
  settled(kept: KeptFile | undefined): Promise<void>;
  /** Hex, of the whole file, which is synced. @throws StorageError also when the file is not what was appended */
  sha256(): Promise<string>;
  /** Takes its own name. The file must be whole and synced. @throws StorageError, or 75 when the job was lost */
  commit(): Promise<void>;
  /** It is not wanted any more, and shall not take its name. @throws StorageError, or 75 when the job was lost */
  discard(): Promise<void>;
  /** Leaves it as it is, for a resume. Never throws. */
  close(): Promise<void>;
}

/** Paths are absolute, or `s3://` uris. What fails is thrown as the storage says it, unless it is a MillraceError already. */
export interface Storage {
  exists(path: string): Promise<boolean>;
  /** Null when there is none. One that is longer than `mostBytes` may be refused. */
  readText(path: string, mostBytes: number): Promise<string | null>;
  /** Whole or not at all, and never over what another run has written since the job was lost. */
  replaceText(path: string, text: string, fence: Fence): Promise<void>;
  /** Removes a file of the job, if there is one, and never the one that another run has put in its place. */
  remove(path: string, fence: Fence): Promise<void>;
  /** Whether the file there is still the one that a run has finished. */
  isUnchanged(path: string, was: FinishedFile): Promise<boolean>;
  /** What tells the file there from any other without reading it; undefined where nothing does. */
  version(path: string): Promise<string | undefined>;

  /**
   * Goes on at `size` bytes; what lies behind is written again. `isFirst`: the job has never run before, so what is there
   * by now is another job's. @throws StorageError also when less is there, InputError 65 for another job's, or 75 when the job was lost
   */
  open(path: string, size: number, kept: KeptFile | undefined, fence: Fence, isFirst?: boolean): Promise<GrowingFile>;
  /** What keeps a run from going on with so many bytes of the unfinished file, after its name, such as "is missing"; null: nothing. Of its bytes, those that a resume reads are compared. */
  flaw(path: string, size: number, kept: KeptFile | undefined): Promise<string | null>;
  /** A name of what is there of it unfinished; null: nothing. */
  unfinished(path: string): Promise<string | null>;
  /** The first bytes of a finished file become an unfinished one, to go on from; it stays in place. Without a finished file there is none either. */
  reopen(path: string, size: number, sha: string | undefined, fence: Fence): Promise<KeptFile | undefined>;
  /** The file is finished, and a checkpoint says so: what it was made of goes. Never throws. */
  dropUnfinished(path: string, fence: Fence): Promise<void>;

  /** What runs before have in hand to take this name with is taken from them. Before anything is read. */
  sweep(path: string, fence: Fence): Promise<void>;
  /** A holder before may come back: nothing that it still writes gets into the unfinished file. */
  shutOutOfFile(path: string, fence: Fence): Promise<void>;
  /** The same for a text that it replaces. */
  shutOutOfText(path: string, fence: Fence): Promise<void>;
}
