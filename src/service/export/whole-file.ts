/** A file that appears at its name when it is whole, for its owner only (0600). */
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InputError } from '../../errors.ts';
import { isAt } from '../../storage/is-at.ts';
import { syncFolder } from '../../storage/sync-folder.ts';

/**
 * Has `write` fill the empty file that it is told, which then takes the place of whatever file is at `path`; folders that are missing are made.
 * When it throws, nothing is left behind, and what was at `path` is still there.
 * @throws InputError when a folder, a device or the like is there, or somebody else has begun to write the same file since
 */
export async function writeWhole<T>(path: string, write: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${path}.partial`;
  await mkdir(dirname(path), { recursive: true });
  const there = await stat(path).catch(() => null);
  if (there?.isFile() === false) throw new InputError('output_not_ours', `${path} exists, and is no file that could be replaced`, { hint: 'Name another file.' });
  // What an export left behind that was killed.
  await discard(partial);
  // Open until the end: so no other file gets its number.
  const file = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? writtenElsewhere(path, error) : error;
  });
  let written: T;
  try {
    written = await write(partial);
    if (!(await isAt(file, partial))) throw writtenElsewhere(path);
    await rename(partial, path);
  } catch (error) {
    if (!(await isAt(file, partial))) throw writtenElsewhere(path, error);
    await discard(partial);
    throw error;
  } finally {
    await file.close();
  }
  await syncFolder(dirname(path));
  return written;
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
