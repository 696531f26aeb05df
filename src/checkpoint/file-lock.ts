/** A lock that is a file. */
import { fstatSync, statSync } from 'node:fs';
import { stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isAt } from '../storage/is-at.ts';
import { makeFolders } from '../storage/make-folders.ts';
import { lockFailed, readHolder, readHolderNow, type Holder } from './holder.ts';
import { succeed, sweepLock, takeAway, tryCreate } from './lock-file.ts';
import type { Grip, LockPlace } from './lock-place.ts';

export function fileLock(path: string): LockPlace {
  return {
    async prepare() {
      try {
        makeFolders(dirname(path));
      } catch (error) {
        throw lockFailed(path, 'written', error);
      }
    },
    async create(holder) {
      const file = await tryCreate(path, holder);
      return file === null ? null : new FileGrip(path, file, holder.nonce);
    },
    read: () => readHolder(path),
    readNow: () => readHolderNow(path),
    async succeed(expected, successor, now) {
      const taken = await succeed(path, expected, successor, now);
      return typeof taken === 'string' ? taken : new FileGrip(path, taken, successor.nonce);
    },
    sweep: (now) => sweepLock(path, now),
  };
}

class FileGrip implements Grip {
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
    // Where the folder is gone, nobody has taken anything over.
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

  /** Writes into our own file only: once the path belongs to another holder, nothing of theirs can be touched. */
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

  async letGo(): Promise<void> {
    await takeAway(this.#path, this.#nonce).catch(() => undefined);
    await this.close();
  }

  async close(): Promise<void> {
    await this.#file.close().catch(() => undefined);
  }

  /** Over what is there: no text is shorter than the one before, for `overtook` only ever becomes false. */
  async #write(holder: Holder): Promise<void> {
    await this.#file.write(JSON.stringify(holder), 0);
  }
}
