/** Where input lies: the one contract behind which a disk and S3 look alike. Everything above sees bytes only. Types only. */

/** From `start` up to, not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A file as a source knows it. */
export interface SourceFile {
  /** As the user would name it. */
  readonly uri: string;
  /** Where its bytes are: a path, or an `s3://` uri. */
  readonly path: string;
}

export interface Identity {
  /** Bytes. */
  readonly size: number;
  /** Tells this content from another: a disk's SHA-256 over both ends, an object's ETag. */
  readonly digest: string;
}

export interface RangeOptions {
  readonly chunkBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export interface LookOptions {
  readonly signal?: AbortSignal | undefined;
}

/** `named`: the uri is a file's own name, and not a place or a pattern. */
export interface Found {
  readonly named: boolean;
  readonly files: readonly SourceFile[];
}

export interface Source {
  /**
   * The files that one uri means: itself, what lies in it, or what a glob matches; unsorted, the job's own among them.
   * Empty when nothing matches, or when it does not exist and `mayLack`. Throws `input_missing`, `input_unreadable`.
   */
  find(uri: string, mayLack: boolean, options: LookOptions): Promise<Found>;
  /** Throws `input_missing`, `input_unreadable`; StorageError when the storage fails. */
  identify(file: SourceFile, options: LookOptions): Promise<Identity>;
  /**
   * The bytes of a range, in chunks, some read ahead of the consumer. Content that is no longer what `digest` says, or
   * that ends before the range does, has changed since it was looked at: `input_changed`.
   */
  readRange(file: SourceFile & { readonly digest: string }, range: ByteRange, options: RangeOptions): AsyncGenerator<Buffer, void, void>;
}
