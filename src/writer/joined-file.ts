/** Joins the outputs of shards into one file, byte for byte as a single writer would have written it. */
import { createHash, type Hash } from 'node:crypto';
import type { Fence } from '../storage/fence.ts';
import { InputError, MillraceError, StorageError, storageHint } from '../util/errors.ts';
import type { Compression } from '../formats/input-record.ts';
import { sourceOf } from '../sources/source-of.ts';
import { WrittenRows } from '../formats/written-rows.ts';
import type { GrowingFile, ResumeState } from '../storage/storage.ts';
import { storageOf } from '../storage/storage-of.ts';
import { compressMember, MEMBER, type MemberSize } from '../formats/compression/compressor.ts';

export interface RowsFile {
  /** A path, or an `s3://` uri. */
  readonly path: string;
  /** The version of the object in S3. Unused on a disk. */
  readonly version: string;
  readonly bytes: number;
  /** Hex digest of the whole part. */
  readonly sha256: string;
  /** The end of the last gzip or zstd member that `MemberSize` ended. The members after it are shorter. */
  readonly fullBytes: number;
  /** True when the first row is a header. */
  readonly header: boolean;
}

interface JoinOptions {
  /** The final path. The joined file does not have this name yet, see `GrowingFile`. */
  readonly path: string;
  readonly parts: readonly RowsFile[];
  readonly compression: Compression;
  /** True when quoted fields may contain line ends. */
  readonly quoted: boolean;
  readonly fence: Fence;
  readonly signal: AbortSignal;
  readonly member?: MemberSize;
}

const CHUNK_BYTES = 256 * 1024;

export interface JoinedFile {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  /** See `GrowingFile`. */
  readonly kept: ResumeState | undefined;
}

/**
 * Joins the parts. Each call starts from scratch, and the file is durable when it returns. @throws StorageError, MillraceError 75 when the
 * job was lost, the signal's reason
 */
export async function joinParts(options: JoinOptions): Promise<JoinedFile> {
  const file = await (await storageOf(options.path)).open(options.path, 0, undefined, options.fence);
  try {
    if (options.compression === 'none') {
      for (const part of options.parts) await copy(file, part, part.bytes, options.signal);
    } else {
      const members = new Members(file, options.compression, options);
      for (const part of options.parts) await members.add(part);
      await members.end();
    }
    await file.sync();
    return { bytes: file.size, sha256: await file.sha256(), kept: file.resumeState(file.position()) };
  } finally {
    await file.close();
  }
}

/** Appends the first bytes of a part unchanged. The whole part is read for its SHA-256. */
async function copy(to: GrowingFile, part: RowsFile, bytes: number, signal: AbortSignal): Promise<void> {
  const { path, version } = part;
  if (part.bytes === 0) return;
  const hash = createHash('sha256');
  const read = async (start: number, end: number): Promise<AsyncGenerator<Buffer, void, void>> =>
    hashed(
      (await sourceOf(path)).readRange({ uri: path, path, digest: version }, { start, end }, { chunkBytes: CHUNK_BYTES, signal }),
      hash,
    );
  try {
    if (bytes > 0) await to.appendFrom({ path, version, at: 0, bytes }, await read(0, bytes));
    // The rest counts for the SHA-256. It is at most one member, or is read again to be decompressed.
    for await (const _ of await read(bytes, part.bytes)) signal.throwIfAborted();
    signal.throwIfAborted();
    if (hash.digest('hex') !== part.sha256)
      throw new StorageError('output_failed', `${path} is not what its shard wrote, or was spoilt on its way here`, {
        hint:
          'Run the same command again: the shards are joined anew. If it says so again, remove the output of that shard and run it ' +
          'again: its rows are written from the ledger.',
      });
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof MillraceError && !(error instanceof InputError)) throw error;
    throw new StorageError('output_failed', `${path} could not be read to be joined: ${(error as Error).message}`, {
      hint: storageHint(error),
      cause: error,
    });
  }
}

async function* hashed(chunks: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer, void, void> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/**
 * Members end where a single writer would have ended them.
 * While each part begins at a member boundary of the joined file, its full members are copied. Rows after a shorter member are compressed
 * again.
 */
class Members {
  readonly #file: GrowingFile;
  readonly #compression: Exclude<Compression, 'none'>;
  readonly #options: JoinOptions;
  readonly #size: MemberSize;
  #rows: Buffer[] = [];
  #count = 0;
  #bytes = 0;

  constructor(file: GrowingFile, compression: Exclude<Compression, 'none'>, options: JoinOptions) {
    this.#file = file;
    this.#compression = compression;
    this.#options = options;
    this.#size = options.member ?? MEMBER;
  }

  async add(part: RowsFile): Promise<void> {
    const full = this.#bytes === 0 ? part.fullBytes : 0;
    await copy(this.#file, part, full, this.#options.signal);
    if (full === part.bytes) return;
    const readable = { uri: part.path, path: part.path, size: part.bytes, digest: part.version, compression: this.#compression };
    const rows = new WrittenRows(readable, this.#options.quoted, { offset: 0, frame: { at: full, offset: 0 } }, this.#options.signal);
    try {
      let header = part.header && full === 0;
      for (let row = await rows.next(); row !== null; row = await rows.next()) {
        await this.#push(row, header ? 0 : 1);
        header = false;
      }
    } finally {
      await rows.close();
    }
  }

  /** Ends with a shorter member, or with an empty one when the file has no rows. */
  async end(): Promise<void> {
    if (this.#bytes > 0 || this.#file.size === 0) await this.#endMember();
  }

  async #push(row: Buffer, count: 0 | 1): Promise<void> {
    this.#rows.push(row);
    this.#bytes += row.length;
    this.#count += count;
    if (count > 0 && (this.#count >= this.#size.rows || this.#bytes >= this.#size.bytes)) await this.#endMember();
  }

  async #endMember(): Promise<void> {
    const member = Buffer.concat(this.#rows, this.#bytes);
    this.#rows = [];
    this.#count = 0;
    this.#bytes = 0;
    this.#file.append(await compressMember(this.#compression, member));
    await this.#file.room();
  }
}
