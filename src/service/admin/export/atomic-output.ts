/** A file that appears under its name only when it is complete (mode 0600). */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { InputError } from '../../../util/errors.ts';
import { isMissing } from '../../../util/files/is-at.ts';
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
  /** A name that no other export has: two that shared one could write into each other's file, or publish it half-written. */
  readonly #partial: string;
  #isPublished = false;

  private constructor(path: string, partial: string) {
    this.path = path;
    this.#partial = partial;
  }

  /**
   * Makes the folder and an empty partial file. Removes those of earlier exports, which then fail if they are still running.
   * @throws InputError when no file can be replaced at `path`; the system's error when nothing can be written there
   */
  static async begin(path: string): Promise<AtomicOutput> {
    makeFolders(dirname(path));
    const existing = await stat(path).catch(() => null);
    if (existing?.isFile() === false)
      throw new InputError('output_not_ours', `${path} exists, and is no file that could be replaced`, { hint: 'Name another file.' });
    await discardEarlier(path);
    const partial = `${path}.${randomBytes(8).toString('hex')}.partial`;
    const file = await open(partial, 'wx', 0o600);
    await file.close();
    return new AtomicOutput(path, partial);
  }

  /** Calls `write` with the path of the partial file. */
  async fill<T>(write: (partial: string) => Promise<T>): Promise<T> {
    try {
      return await write(this.#partial);
    } catch (error) {
      throw existsSync(this.#partial) ? error : writtenElsewhere(this.path, error);
    }
  }

  /** Renames the partial file to its final name. @throws InputError when another export has begun to write it */
  async publish(): Promise<void> {
    await rename(this.#partial, this.path).catch((error: unknown) => {
      throw isMissing(error) ? writtenElsewhere(this.path, error) : error;
    });
    this.#isPublished = true;
    await syncFolder(dirname(this.path));
  }

  async close(): Promise<void> {
    if (!this.#isPublished) await discard(this.#partial);
  }
}

/** Ends a partial file's name, behind the name of the output. */
const PARTIAL = /^\.[0-9a-f]{16}\.partial$/;

/** Removes the partial files of killed exports, and of those that run. */
async function discardEarlier(path: string): Promise<void> {
  // Where the folder cannot be listed, they stay.
  const names = await readdir(dirname(path)).catch(() => []);
  const output = basename(path);
  for (const name of names)
    if (name.startsWith(output) && PARTIAL.test(name.slice(output.length))) await discard(join(dirname(path), name));
}

function writtenElsewhere(path: string, cause: unknown): InputError {
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
