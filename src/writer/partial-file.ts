import { constants } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { StorageError, storageHint } from '../errors.ts';
import { syncFolder } from '../checkpoint/durable.ts';

/** Bytes held in memory before whoever writes has to wait. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024;
/** Bytes gathered before a write goes out. */
const WRITE_BYTES = 512 * 1024;

/**
 * A file that grows under a temporary name and gets its own name when it is whole.
 * Appends are gathered and written in order, one write at a time. The first failure sticks.
 */
export class PartialFile {
  readonly path: string;
  readonly #finalPath: string;
  readonly #file: FileHandle;
  #gathered: Buffer[] = [];
  #gatheredBytes = 0;
  #size: number;
  /** Bytes of it that are in the file. */
  #written: number;
  #writing: Promise<void> | null = null;
  #failure: StorageError | null = null;

  private constructor(path: string, finalPath: string, file: FileHandle, size: number) {
    this.path = path;
    this.#finalPath = finalPath;
    this.#file = file;
    this.#size = size;
    this.#written = size;
  }

  /** Opens `<finalPath>.partial`, cut to `size` bytes: what lies behind the last checkpoint is written again. */
  static async open(finalPath: string, size: number): Promise<PartialFile> {
    const path = partialPath(finalPath);
    try {
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, constants.O_RDWR | (size === 0 ? constants.O_CREAT : 0), 0o600);
      try {
        const found = (await file.stat()).size;
        if (found < size) throw tooShort(path, `holds ${found} bytes`, size);
        if (found > size) await file.truncate(size);
        return new PartialFile(path, finalPath, file, size);
      } catch (error) {
        await file.close();
        throw error;
      }
    } catch (error) {
      if (size > 0 && (error as NodeJS.ErrnoException).code === 'ENOENT') throw tooShort(path, 'is gone', size);
      throw storageFailure(path, 'opened', error);
    }
  }

  /** Bytes appended so far, written or not. */
  get size(): number {
    return this.#size;
  }

  append(bytes: Buffer): void {
    this.#gathered.push(bytes);
    this.#gatheredBytes += bytes.length;
    this.#size += bytes.length;
    if (this.#gatheredBytes >= WRITE_BYTES && this.#writing === null && this.#failure === null) this.#startWriting();
  }

  /** Back-pressure: null when more is welcome, else a promise of that. @throws StorageError when a write failed */
  room(): Promise<void> | null {
    if (this.#failure !== null) throw this.#failure;
    if (this.#gatheredBytes < HIGH_WATER_BYTES) return null;
    const drained = this.#drained();
    // Whoever asked may be stopping and not wait for it; the failure stays, and the next call throws it.
    drained.catch(() => undefined);
    return drained;
  }

  /** Everything appended so far is on the disk when this resolves. @throws StorageError */
  async sync(): Promise<void> {
    await this.#drained();
    try {
      await this.#file.datasync();
    } catch (error) {
      // It sticks: Linux lets go of what it could not write, and the next flush says that all is well (fsync(2), "Errors").
      this.#failure = storageFailure(this.path, 'flushed', error);
      throw this.#failure;
    }
  }

  /**
   * Takes its own name. The file must be whole and synced.
   * @throws StorageError also when the partial file is no longer the one written here: another run took the job over
   */
  async commit(): Promise<void> {
    try {
      const [ours, there] = await Promise.all([this.#file.stat(), stat(this.path)]);
      if (ours.ino !== there.ino || ours.dev !== there.dev) throw new Error('another run has replaced it');
      await this.#file.close();
      await rename(this.path, this.#finalPath);
      await syncFolder(dirname(this.#finalPath));
    } catch (error) {
      throw storageFailure(this.#finalPath, 'put in place', error);
    }
  }

  /** Leaves the partial file as it is, for a resume. Never throws. */
  async close(): Promise<void> {
    await this.#writing?.catch(() => undefined);
    await this.#file.close().catch(() => undefined);
  }

  /** What had been appended when this was called is in the file; what is appended meanwhile is not waited for. */
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
      for (let done = 0; done < bytes.length; ) done += (await this.#file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
      this.#written = at + bytes.length;
    } catch (error) {
      this.#failure = storageFailure(this.path, 'written', error);
    }
  }
}

/**
 * Gives a partial file a new inode with the same bytes: a run that lost the job may still hold the old one open, and
 * what it writes there from now on goes nowhere. @throws StorageError
 */
export async function replaceInode(finalPath: string): Promise<void> {
  const path = partialPath(finalPath);
  const copy = `${path}.copy`;
  try {
    await copyFile(path, copy);
    await rename(copy, path);
  } catch (error) {
    await rm(copy, { force: true }).catch(() => undefined);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw storageFailure(path, 'copied', error);
  }
}

export function partialPath(finalPath: string): string {
  return `${finalPath}.partial`;
}

function tooShort(path: string, what: string, size: number): StorageError {
  return new StorageError('partial_too_short', `${path} ${what}, the checkpoint says ${size} bytes: it was cut or replaced from outside`, { hint: 'Run with --fresh to start over; what was paid for is still in the ledger.' });
}

function storageFailure(path: string, what: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StorageError('output_failed', `${path} could not be ${what}: ${message}`, { hint: storageHint(error), cause: error });
}
