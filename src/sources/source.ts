/** The contract of a place that input comes from. Disk and S3 look alike behind it, and callers see bytes only. Types only. */

/** A byte range: `start` inclusive, `end` exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** An input file as its source identifies it. */
export interface SourceFile {
  /** The name that the user gave, for messages. */
  readonly uri: string;
  /** The location of the bytes: a path or an `s3://` uri. */
  readonly path: string;
}

export interface Identity {
  /** Size in bytes. */
  readonly size: number;
  /** A fingerprint of the content: SHA-256 over both ends of a local file, the ETag of an object. */
  readonly digest: string;
}

export interface RangeOptions {
  readonly chunkBytes: number;
  readonly signal?: AbortSignal | undefined;
}

export interface LookOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The files of a uri. `named`: the uri is the name of one file, neither a folder nor a pattern. */
export interface Found {
  readonly named: boolean;
  readonly files: readonly SourceFile[];
}

export interface Source {
  /**
   * The files of one uri, unsorted, including the job's own files: the file itself, the files of a folder, or the matches of a glob.
   * Empty when nothing matches, or when the uri does not exist and `mayLack` is set.
   * @throws InputError `input_missing`, `input_unreadable`
   */
  find(uri: string, mayLack: boolean, options: LookOptions): Promise<Found>;
  /** @throws InputError `input_missing`, `input_unreadable`; StorageError when the storage fails */
  identify(file: SourceFile, options: LookOptions): Promise<Identity>;
  /**
   * The bytes of a range in chunks. Some chunks are read ahead of the consumer.
   * @throws InputError `input_changed` when the content no longer matches `digest`, or ends before the range does
   */
  readRange(file: SourceFile & { readonly digest: string }, range: ByteRange, options: RangeOptions): AsyncGenerator<Buffer, void, void>;
}
