/** The job lock as a file on a disk. */
import { fstatSync, statSync } from 'node:fs';
import { stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isAt } from '../util/files/is-at.ts';
import { makeFolders } from '../util/files/make-folders.ts';
import { lockFailed, readHolder, readHolderNow, type Holder } from './holder.ts';
import { takeOverLock, sweepLock, removeLock, createLock } from './lock-file.ts';
import type { LockHandle, LockStore } from './lock-store.ts';

export function fileLock(path: string): LockStore {
  return {
    async prepare() {
      try {
        makeFolders(dirname(path));
      } catch (error) {
        throw lockFailed(path, 'written', error);
      }
    },
    async create(holder) {
      const file = await createLock(path, holder);
      return file === null ? null : new FileGrip(path, file, holder.nonce);
    },
    read: () => readHolder(path),
    readNow: () => readHolderNow(path),
    async takeOver(expected, successor, now) {
      const taken = await takeOverLock(path, expected, successor, now);
      return typeof taken === 'string' ? taken : new FileGrip(path, taken, successor.nonce);
    },
    sweep: (now) => sweepLock(path, now),
  };
}

class FileGrip implements LockHandle {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #nonce: string;

  constructor(path: string, file: FileHandle, nonce: string) {
    this.#path = path;
    this.#file = file;
    this.#nonce = nonce;
  }

  async isOurs(): Promise<boolean> {
    const ours = await isAt(this.#file, this.#path);
    // Without the folder, no other run can have taken the lock.
    if (!ours) await stat(dirname(this.#path));
    return ours;
  }

  isOursNow(): boolean {
    const there = statSync(this.#path, { throwIfNoEntry: false });
    const { ino, dev } = fstatSync(this.#file.fd);
    const ours = there?.ino === ino && there.dev === dev;
    if (!ours) statSync(dirname(this.#path));
    return ours;
  }

  /** Writes only into this run's own file. If the path belongs to another holder now, its file stays untouched. */
  async renew(holder: Holder): Promise<boolean> {
    const ours = await this.isOurs();
    if (ours) await this.#write(holder);
    return ours;
  }

  async record(holder: Holder): Promise<boolean> {
    await this.#write(holder);
    await this.#file.datasync();
    return true;
  }

  async release(): Promise<void> {
    await removeLock(this.#path, this.#nonce).catch(() => undefined);
    await this.close();
  }

  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined);
  }

  /** Overwrites in place. No text is shorter than the one before, because `overtook` only ever turns false. */
  async #write(holder: Holder): Promise<void> {
    await this.#file.write(JSON.stringify(holder), 0);
  }
}
