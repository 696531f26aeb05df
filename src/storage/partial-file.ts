import { link, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { MillraceError } from '../util/errors.ts';
import { copyAs } from './atomic-file.ts';
import { hasNoLinks, removeFile, takeName, type Fence } from './fence.ts';
import { BlockDigest } from './block-digest.ts';
import { begunByAnother, damaged, storageFailure, tooShort } from './failure.ts';
import { fileSha256 } from './file-digest.ts';
import { isAt } from '../util/files/is-at.ts';
import { makeFolders } from '../util/files/make-folders.ts';
import { partialPath } from './names.ts';
import type { FinishedRange, GrowingFile, WritePosition, ResumeState } from './storage.ts';
import { syncFolder } from '../util/files/sync-folder.ts';

/** Bytes held in memory before `room` asks the writer to wait. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024;
/** Bytes of one write. */
const WRITE_BYTES = 512 * 1024;

/** A growing file on a disk: `<file>.partial`. Appends are buffered and written in order, one write at a time. */
export class PartialFile implements GrowingFile {
  readonly path: string;
  readonly #finalPath: string;
  readonly #fence: Fence;
  readonly #file: FileHandle;
  /** Digest of everything appended, by this process and earlier ones. Null when the digest of the earlier bytes is unknown. */
  readonly #digest: BlockDigest | null;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  #size: number;
  /** Bytes that are in the file. */
  #written: number;
  #writing: Promise<void> | null = null;
  #failure: MillraceError | null = null;

  private constructor(path: string, finalPath: string, fence: Fence, file: FileHandle, size: number, digest: BlockDigest | null) {
    this.path = path;
    this.#finalPath = finalPath;
    this.#fence = fence;
    this.#file = file;
    this.#digest = digest;
    this.#size = size;
    this.#written = size;
  }

  /**
   * Opens `<finalPath>.partial`, truncated to `size` bytes. Later bytes were not part of the last checkpoint and are written again.
   * @param isFirst the job has never run, so an existing file belongs to another job
   * @throws StorageError; InputError 65 for another job's file; MillraceError 75 when the job was lost
   */
  static async open(finalPath: string, size: number, fence: Fence, isFirst = false, kept?: ResumeState): Promise<PartialFile> {
    const path = partialPath(finalPath);
    try {
      makeFolders(dirname(path));
      const file = isFirst
        ? await createFirst(path, fence)
        : ((await openIfThere(path)) ?? (size === 0 ? await create(path, fence) : null));
      if (file === null) throw tooShort(path, 'is gone', size);
      try {
        // Nothing is changed before the lock confirms that the file is the job's own.
        await fence.check();
        const found = (await file.stat()).size;
        if (found < size) throw tooShort(path, `holds ${found} bytes`, size);
        const digest = await digestAt(path, size, kept);
        if (digest === 'damaged') throw damaged(path, 'is not what the checkpoint says');
        if (found > size) await file.truncate(size);
        return new PartialFile(path, finalPath, fence, file, size, digest);
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      throw storageFailure(path, 'opened', error);
    }
  }

  get size(): number {
    return this.#size;
  }

  position(): WritePosition {
    return { bytes: this.#size, ...(this.#digest === null ? {} : { sha: this.#digest.state }) };
  }

  append(bytes: Buffer): void {
    this.#digest?.update(bytes);
    this.#gathered.push(bytes);
    this.#gatheredBytes += bytes.length;
    this.#size += bytes.length;
    if (this.#gatheredBytes >= WRITE_BYTES && this.#writing === null && this.#failure === null) this.#startWriting();
  }

  async appendFrom(_source: FinishedRange, chunks: AsyncIterable<Buffer>): Promise<void> {
    for await (const chunk of chunks) {
      this.append(chunk);
      await this.room();
    }
  }

  room(): Promise<void> | null {
    if (this.#failure !== null) throw this.#failure;
    if (this.#gatheredBytes < HIGH_WATER_BYTES) return null;
    const drained = this.#drained();
    // The caller may stop without awaiting this. The failure is stored, and the next call throws it.
    drained.catch(() => undefined);
    return drained;
  }

  async sync(): Promise<void> {
    await this.#drained();
    try {
      await this.#file.datasync();
    } catch (error) {
      // The failure stays: Linux drops pages that it could not write, and the next flush reports success (fsync(2), "Errors").
      this.#failure = storageFailure(this.path, 'flushed', error);
      throw this.#failure;
    }
  }

  resumeState({ bytes, sha }: WritePosition): ResumeState | undefined {
    return bytes === 0 || sha === undefined ? undefined : { parts: [], sha };
  }

  async settled(): Promise<void> {}

  /** Reads the file on the disk once, and compares it with the digest of what was appended. */
  async sha256(): Promise<string> {
    const found = new BlockDigest();
    const sha256 = await fileSha256(this.path, found);
    if (this.#digest !== null && found.state !== this.#digest.state) throw damaged(this.path, 'is not what was written');
    return sha256;
  }

  /**
   * Renames by way of a second name. Otherwise a run that lost the job this moment could publish its successor's unfinished file.
   * @throws StorageError also when the partial file is no longer the one written here; MillraceError 75 when the job was lost
   */
  async commit(): Promise<void> {
    try {
      await this.#fence.check();
      // After a crash between the two steps the file has its name already, and a rename onto itself would do nothing.
      if (!(await isAt(this.#file, this.#finalPath))) await this.#takeName();
      await removeFile(this.path, this.#fence);
      await this.#file.close();
    } catch (error) {
      throw storageFailure(this.#finalPath, 'put in place', error);
    }
  }

  async discard(): Promise<void> {
    await this.close();
    await removeFile(this.path, this.#fence);
  }

  async close(): Promise<void> {
    await this.#writing?.catch(() => undefined);
    await this.#file.close().catch(() => undefined);
  }

  async #takeName(): Promise<void> {
    const second = this.#fence.temporary(this.#finalPath);
    await rm(second, { force: true });
    try {
      await link(this.path, second);
    } catch (error) {
      if (!hasNoLinks(error)) throw error;
      // Disks without hard links allow no second name. Only the moment between these two calls is unprotected.
      if (!(await isAt(this.#file, this.path))) throw replaced();
      await this.#fence.check();
      await rename(this.path, this.#finalPath);
      return syncFolder(dirname(this.#finalPath));
    }
    if (!(await isAt(this.#file, second))) {
      await rm(second, { force: true });
      throw replaced();
    }
    await takeName(this.#finalPath, this.#fence);
  }

  /** Resolves when everything appended before this call is in the file. Later appends are not awaited. */
  async #drained(): Promise<void> {
    const size = this.#size;
    while (this.#written < size) {
      if (this.#failure !== null) throw this.#failure;
      if (this.#writing === null) this.#startWriting();
      await this.#writing;
    }
    if (this.#failure !== null) throw this.#failure;
  }

  #startWriting(): void {
    const bytes = this.#gathered.length === 1 ? (this.#gathered[0] as Buffer) : Buffer.concat(this.#gathered, this.#gatheredBytes);
    const at = this.#size - bytes.length;
    this.#gathered = [];
    this.#gatheredBytes = 0;
    this.#writing = this.#write(bytes, at).finally(() => {
      this.#writing = null;
      if (this.#gatheredBytes >= WRITE_BYTES && this.#failure === null) this.#startWriting();
    });
  }

  async #write(bytes: Buffer, at: number): Promise<void> {
    try {
      for (let done = 0; done < bytes.length;) done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      this.#written = at + bytes.length;
    } catch (error) {
      this.#failure = storageFailure(this.path, 'written', error);
    }
  }
}

/**
 * Copies a partial file to a new inode. A run that lost the job may still hold the old inode open; its writes then go nowhere.
 * @throws StorageError, or MillraceError 75 when the job was lost
 */
export async function replaceInode(finalPath: string, fence: Fence): Promise<void> {
  const path = partialPath(finalPath);
  try {
    await copyAs(path, path, fence);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw storageFailure(path, 'copied', error);
  }
}

/** The digest of the first `size` bytes, to continue. Null when the checkpoint has none. Only the incomplete block is read. */
export async function digestAt(path: string, size: number, kept: ResumeState | undefined): Promise<BlockDigest | 'damaged' | null> {
  if (size === 0) return new BlockDigest();
  if (kept === undefined) return null;
  const from = BlockDigest.openFrom(kept.sha);
  const file = await open(path, 'r');
  try {
    const open = Buffer.alloc(Math.max(0, size - from));
    const { bytesRead } = await file.read(open, 0, open.length, from);
    return bytesRead < open.length ? 'damaged' : (BlockDigest.from(kept.sha, open) ?? 'damaged');
  } finally {
    await file.close();
  }
}

async function openIfThere(path: string): Promise<FileHandle | null> {
  return open(path, 'r+').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  });
}

/** Creates an empty file. */
function create(path: string, fence: Fence): Promise<FileHandle> {
  return createAs(path, fence, () => takeName(path, fence));
}

/** Creates an empty file only if none exists, because two jobs with the same output may start at the same moment. @throws InputError 65 */
function createFirst(path: string, fence: Fence): Promise<FileHandle> {
  return createAs(path, fence, async (temporary) => {
    await fence.check();
    try {
      await link(temporary, path);
    } catch (error) {
      if (hasNoLinks(error)) return takeName(path, fence);
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      throw begunByAnother(path);
    }
    await rm(temporary, { force: true });
    await syncFolder(dirname(path));
  });
}

async function createAs(path: string, fence: Fence, giveName: (temporary: string) => Promise<void>): Promise<FileHandle> {
  const temporary = fence.temporary(path);
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx+', 0o600);
  try {
    await giveName(temporary);
    return file;
  } catch (error) {
    await file.close();
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

function replaced(): Error {
  return new Error('another run has replaced it');
}
