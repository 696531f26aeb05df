/** The files of jobs: a folder for each, beside the store. They hold personal data, so they are the owner's alone. */
import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, rm, rmdir, stat, statfs, truncate, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isOfDisk } from '../../sqlite/system-code.ts';
import { isReserved, spaceAt } from '../store/store-disk.ts';
import { releaseDead } from './held-files.ts';
import { KEPT_MS } from './limits.ts';

/** A file that no row of the store names may be about to be named: it is left alone for so long, milliseconds. */
const STRAY_MS = 3_600_000;

/** A file that is shorter than what counts of it: it was cut, or an older one was put in its place. */
export class FileCut extends Error {}

/** Where the files of all jobs lie. @param store its file */
export function batchesPath(store: string): string {
  return `${store}.batches`;
}

export class BatchFolder {
  readonly #store: string;
  readonly #path: string;
  readonly #log: string;

  /** @param store its file */
  constructor(store: string) {
    this.#store = store;
    this.#path = batchesPath(store);
    this.#log = `${store}-wal`;
  }

  at(id: string, file: string): string {
    return join(this.#path, id, file);
  }

  /** A new file of a job. */
  async create(id: string, name: string): Promise<{ readonly file: string; readonly handle: FileHandle }> {
    await this.#make(id);
    const file = `${name}-${randomBytes(6).toString('hex')}`;
    return { file, handle: await open(this.at(id, file), 'wx', 0o600) };
  }

  /** Puts `bytes` behind the first `from` of a file, flushed; what a failure left there is overwritten. Makes the file when nothing counts of it yet. @throws FileCut; what the disk says */
  async append(id: string, file: string, from: number, bytes: Buffer): Promise<void> {
    await this.#make(id);
    // Not for appending: that would write behind what a failed attempt has left.
    const handle = await open(this.at(id, file), from === 0 ? 'w' : 'r+', 0o600);
    try {
      // Zeros would be in between.
      if ((await handle.stat()).size < from) throw new FileCut();
      for (let done = 0; done < bytes.length; ) done += (await handle.write(bytes, done, bytes.length - done, from + done)).bytesWritten;
      await handle.truncate(from + bytes.length);
      await handle.datasync();
    } finally {
      await handle.close();
    }
  }

  /** Not `recursive`: on a disk that is read-only that says that the folder is not there. */
  async #make(id: string): Promise<void> {
    for (const path of [this.#path, join(this.#path, id)]) {
      await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      });
    }
  }

  /** Has on the disk what the store has written by now, which SQLite leaves to the system: a power cut would have the store name again what is removed next. The log alone, and not by the thread that everybody waits for. */
  async #flushStore(): Promise<void> {
    const log = await open(this.#log, 'r').catch((error: unknown) => {
      // All of it is in the store itself.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    });
    try {
      await log?.datasync();
    } finally {
      await log?.close();
    }
  }

  /** Cuts a file to what counts of it. @throws FileCut where it is shorter; what the disk says, such as that it is not there */
  async cut(id: string, file: string, bytes: number): Promise<void> {
    const path = this.at(id, file);
    const { size } = await stat(path);
    if (size < bytes) throw new FileCut('the file of results is shorter than it was');
    if (size > bytes) await truncate(path, bytes);
  }

  /** Whether what is left of the disk is for the store alone: jobs stop before it cannot write down what it charges. */
  isReserved(): boolean {
    return isReserved(spaceAt(this.#path) ?? spaceAt(dirname(this.#path)));
  }

  /** Whether the disk takes so many bytes more of a job. @throws what the disk says of anything else */
  async hasRoom(id: string, bytes: number): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#path);
    if (bavail * bsize < bytes || this.isReserved()) return false;
    // A quota, or a disk that is read-only, is not told of there.
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
      if (!isOfDisk(error)) throw error;
      return false;
    }
  }

  /** Of a file that the store has never named, or that is no good. */
  async remove(id: string, file: string): Promise<void> {
    await rm(this.at(id, file), { force: true });
  }

  /** Removes files that the store names no more. @throws what the disk says */
  async retire(id: string, files: readonly string[]): Promise<void> {
    if (files.length === 0) return;
    await this.#flushStore();
    for (const file of files) await this.remove(id, file);
  }

  /** All that a job has. @throws what the disk says */
  async removeJob(id: string): Promise<void> {
    await this.#flushStore();
    // Something may be written there at this moment.
    await rm(join(this.#path, id), { recursive: true, force: true, maxRetries: 3 });
  }

  /**
   * Removes what nobody knows of: left by a process that was killed. What is of no job that the store knows may be of one that another store knows, which was moved, or is to be put back: it is left for as long as any job is kept.
   * @param known the files of a job; null: there is no such job
   */
  async removeStrays(known: (id: string) => ReadonlySet<string> | null, nowMs: number): Promise<void> {
    await releaseDead(this.#store);
    for (const id of await readdir(this.#path).catch(() => [])) {
      const files = known(id);
      for (const file of await readdir(join(this.#path, id)).catch(() => [])) {
        if (files?.has(file) === true) continue;
        const found = await stat(this.at(id, file)).catch(() => null);
        if (found !== null && nowMs - found.mtimeMs > (files === null ? KEPT_MS : STRAY_MS)) await this.retire(id, [file]);
      }
      // Only when it is empty.
      if (files === null) await rmdir(join(this.#path, id)).catch(() => undefined);
    }
  }
}
