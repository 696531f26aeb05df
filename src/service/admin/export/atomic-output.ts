/** A file that appears under its name only when it is complete (mode 0600). */
import { open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InputError } from '../../../util/errors.ts';
import { isAt } from '../../../util/files/is-at.ts';
import { makeFolders } from '../../../util/files/make-folders.ts';
import { syncFolder } from '../../../util/files/sync-folder.ts';

/**
 * Calls `write` with the path of an empty file, which then replaces the file at `path`; missing folders are created. When `write` throws,
 * no file is left behind, and the file at `path` is unchanged.
 * @throws InputError when `path` is a folder, a device or the like, or another export has begun to write it since
 */
export async function writeAtomically<T>(path: string, write: (partial: string) => Promise<T>): Promise<T> {
  const file = await AtomicOutput.begin(path);
  try {
    const written = await file.fill(write);
    await file.publish();
    return written;
  } finally {
    await file.close();
  }
}

/** An output file with four steps: begin, fill, publish, close. Closing it before `publish` removes it. */
export class AtomicOutput {
  readonly path: string;
  /** Open until the end, so that no other file gets its inode number. */
  readonly #file: FileHandle;
  #isPublished = false;

  private constructor(path: string, file: FileHandle) {
    this.path = path;
    this.#file = file;
  }

  /**
   * Makes the folder and an empty `<path>.partial`.
   * @throws InputError when no file can be replaced at `path`; the system's error when nothing can be written there
   */
  static async begin(path: string): Promise<AtomicOutput> {
    makeFolders(dirname(path));
    const existing = await stat(path).catch(() => null);
    if (existing?.isFile() === false)
      throw new InputError('output_not_ours', `${path} exists, and is no file that could be replaced`, { hint: 'Name another file.' });
    // A killed export leaves its partial file behind.
    await discard(partialOf(path));
    const file = await open(partialOf(path), 'wx', 0o600).catch((error: unknown) => {
      throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? writtenElsewhere(path, error) : error;
    });
    return new AtomicOutput(path, file);
  }

  /** Calls `write` with the path of the partial file. */
  async fill<T>(write: (partial: string) => Promise<T>): Promise<T> {
    try {
      return await write(partialOf(this.path));
    } catch (error) {
      throw (await this.#isOurs()) ? error : writtenElsewhere(this.path, error);
    }
  }

  /** Renames the partial file to its final name. @throws InputError when another export has begun to write it */
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
  return new InputError('output_not_ours', `another export writes ${path} by now`, {
    hint: 'Let one end before the next begins, or name another file.',
    cause,
  });
}

/** Removes the partial file, and the journal that SQLite leaves beside it when its rollback failed. */
async function discard(partial: string): Promise<void> {
  for (const path of [partial, `${partial}-journal`]) await rm(path, { force: true });
}

/** Flushes a file to disk, so that it survives a power cut. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
