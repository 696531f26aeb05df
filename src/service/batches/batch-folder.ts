/** The files of jobs: one folder per job beside the store, with mode 0700 because the files hold personal data. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, rmdir, stat, statfs, truncate, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDiskFailure } from '../../sqlite/system-code.ts';
import { booksOf } from '../store/owner/store-name.ts';
import { isReserveReached, spaceAt } from '../store/store-disk.ts';
import { releaseDead } from './held-files.ts';
import { RETENTION_MS } from './batch-limits.ts';

/** How long a file without a row stays, milliseconds: its row may be about to be written. */
const STRAY_MS = 3_600_000;

/** Error: a file is shorter than its committed bytes, because it was truncated or replaced by an older copy. */
export class FileTruncated extends Error {}

/** The folder of all jobs. @param store the path of the store */
export function batchesPath(store: string): string {
  return `${store}.batches`;
}

export class BatchFolder {
  readonly #store: string;
  readonly #path: string;
  readonly #walPath: string;

  /** @param store the path of the store */
  constructor(store: string) {
    this.#store = store;
    this.#path = batchesPath(store);
    this.#walPath = `${booksOf(store)}-wal`;
  }

  /** The path of a job's file. */
  at(id: string, file: string): string {
    return join(this.#path, id, file);
  }

  /** Creates a file of a job. @param name a prefix: a random part makes the name unique */
  async create(id: string, name: string): Promise<{ readonly file: string; readonly handle: FileHandle }> {
    await this.#make(id);
    const file = `${name}-${randomBytes(6).toString('hex')}`;
    return { file, handle: await open(this.at(id, file), 'wx', 0o600) };
  }

  /**
   * Writes `bytes` at offset `from` and flushes them. Overwrites bytes of a failed attempt, and creates the file when `from` is 0.
   * @throws FileTruncated when the file ends before `from`; errors of the disk
   */
  async append(id: string, file: string, from: number, bytes: Buffer): Promise<void> {
    await this.#make(id);
    // Append mode would write after the bytes of a failed attempt.
    const handle = await open(this.at(id, file), from === 0 ? 'w' : 'r+', 0o600);
    try {
      // A write would fill the gap with zeros.
      if ((await handle.stat()).size < from) throw new FileTruncated();
      for (let done = 0; done < bytes.length;) done += (await handle.write(bytes, done, bytes.length - done, from + done)).bytesWritten;
      await handle.truncate(from + bytes.length);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  /** Creates the folder of a job. `recursive` would report a read-only disk as a missing folder. */
  async #make(id: string): Promise<void> {
    for (const path of [this.#path, join(this.#path, id)]) {
      await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
    }
  }

  /** Flushes the log of the books. Otherwise, after a power cut, they could name files that were removed. */
  async #flushStore(): Promise<void> {
    const wal = await open(this.#walPath, 'r').catch((error: unknown) => {
      // Without a log the file itself holds everything.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    });
    try {
      await wal?.datasync();
    } finally {
      await wal?.close();
    }
  }

  /** Truncates a file to its committed bytes. @throws FileTruncated when it is shorter; errors of the disk, such as ENOENT */
  async truncateTo(id: string, file: string, bytes: number): Promise<void> {
    const path = this.at(id, file);
    const { size } = await stat(path);
    if (size < bytes) throw new FileTruncated('the file of results is shorter than it was');
    if (size > bytes) await truncate(path, bytes);
  }

  /** Whether the free space is reserved for the store. Jobs stop early, so that the store can still write charges. */
  isReserved(): boolean {
    return isReserveReached(spaceAt(this.#path) ?? spaceAt(dirname(this.#path)));
  }

  /** Whether the disk has room for `bytes` more of a job. @throws errors other than those of a full disk */
  async hasRoom(id: string, bytes: number): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#path);
    if (bavail * bsize < bytes || this.isReserved()) return false;
    // `statfs` shows neither a quota nor a read-only disk, so a write is tried.
    try {
      const { file, handle } = await this.create(id, 'room');
      try {
        await handle.writeFile(Buffer.alloc(bytes));
        await handle.datasync();
      } finally {
        await handle.close();
        await this.remove(id, file);
      }
      return true;
    } catch (error) {
      if (!isDiskFailure(error)) throw error;
      return false;
    }
  }

  /** Removes a file that no row has named. */
  async remove(id: string, file: string): Promise<void> {
    await rm(this.at(id, file), { force: true });
  }

  /** Removes files whose rows were deleted. @throws errors of the disk */
  async retire(id: string, files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    await this.#flushStore();
    for (const file of files) await this.remove(id, file);
  }

  /** Removes the folder of a job. @throws errors of the disk */
  async removeJob(id: string): Promise<void> {
    await this.#flushStore();
    // Retries, because a write may add a file meanwhile.
    await rm(join(this.#path, id), { recursive: true, force: true, maxRetries: 3 });
  }

  /**
   * Removes files without a row, which a killed process left. The folder of an unknown job stays for `RETENTION_MS`, because the store of
   * that job may be restored later.
   * @param known returns the files of a job; null when the store does not know the job
   */
  async removeStrays(known: (id: string) => ReadonlySet<string> | null, nowMs: number): Promise<void> {
    await releaseDead(this.#store);
    for (const id of await readdir(this.#path).catch(() => [])) {
      const files = known(id);
      for (const file of await readdir(join(this.#path, id)).catch(() => [])) {
        if (files?.has(file) === true) continue;
        const found = await stat(this.at(id, file)).catch(() => null);
        if (found !== null && nowMs - found.mtimeMs > (files === null ? RETENTION_MS : STRAY_MS)) await this.retire(id, [file]);
      }
      // Removes the folder only when it is empty.
      if (files === null) await rmdir(join(this.#path, id)).catch(() => undefined);
    }
  }
}
