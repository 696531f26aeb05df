/** A file that appears at its name when it is whole, for its owner only (0600). */
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InputError } from '../../errors.ts';
import { isAt } from '../../storage/is-at.ts';
import { makeFolders } from '../../storage/make-folders.ts';
import { syncFolder } from '../../storage/sync-folder.ts';

/**
 * Has `write` fill the empty file that it is told, which then takes the place of whatever file is at `path`; folders that are missing are made.
 * When it throws, nothing is left behind, and what was at `path` is still there.
 * @throws InputError when a folder, a device or the like is there, or somebody else has begun to write the same file since
 */
export async function writeWhole<T>(path: string, write: (partial: string) => Promise<T>): Promise<T> {
  const file = await WholeFile.begin(path);
  try {
    const written = await file.fill(write);
    await file.publish();
    return written;
  } finally {
    await file.close();
  }
}

/** A file on its way: begun, filled, published, closed. A file that is closed before it is published leaves nothing behind. */
export class WholeFile {
  readonly path: string;
  /** Open until the end, so that no other file gets its inode number. */
  readonly #file: FileHandle;
  #isPublished = false;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /** Makes the folder and an empty `<path>.partial`. @throws InputError when no file can be replaced at `path`; the system's error when nothing can be written there */
  static async begin(path: string): Promise<WholeFile> {
    makeFolders(dirname(path));
    const there = await stat(path).catch(() => null);
    if (there?.isFile() === false) throw new InputError('output_not_ours', `${path} exists, and is no file that could be replaced`, { hint: 'Name another file.' });
    // A killed export leaves its partial file behind.
    await discard(partialOf(path));
    const file = await open(partialOf(path), 'wx', 0o600).catch((error: unknown) => {
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? writtenElsewhere(path, error) : error;
    });
    return new WholeFile(path, file);
  }

  /** @param write writes to the file with the name that it is given */
  async fill<T>(write: (partial: string) => Promise<T>): Promise<T> {
    try {
      return await write(partialOf(this.path));
    } catch (error) {
      throw (await this.#isOurs()) ? error : writtenElsewhere(this.path, error);
    }
  }

  /** Gives the file its name. @throws InputError when another export has begun to write it */
  async publish(): Promise<void> {
    if (!(await this.#isOurs())) throw writtenElsewhere(this.path);
    await rename(partialOf(this.path), this.path);
    this.#isPublished = true;
    await syncFolder(dirname(this.path));
  }

  async close(): Promise<void> {
    try {
      if (!this.#isPublished && (await this.#isOurs())) await discard(partialOf(this.path));
    } finally {
      await this.#file.close();
    }
  }

  #isOurs(): Promise<boolean> {
    return isAt(this.#file, partialOf(this.path));
  }
}

function partialOf(path: string): string {
  return `${path}.partial`;
}

function writtenElsewhere(path: string, cause?: unknown): InputError {
  return new InputError('output_not_ours', `another export writes ${path} by now`, { hint: 'Let one end before the next begins, or name another file.', cause });
}

/** What was written so far, and the journal that SQLite leaves beside it when it could not even undo that. */
async function discard(partial: string): Promise<void> {
  for (const path of [partial, `${partial}-journal`]) await rm(path, { force: true });
}

/** Makes a file survive a power cut. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
