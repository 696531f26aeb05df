/** A file that appears at its name when it is whole, for its owner only (0600). */
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { InputError } from '../../errors.ts';

/** Has `write` fill the empty file that it is told, which then takes the place of whatever file is at `path`; folders that are missing are made. When it throws, nothing is left behind, and what was at `path` is still there. @throws InputError when a folder, a device or the like is there */
export async function writeWhole<T>(path: string, write: (partial: string) => Promise<T>): Promise<T> {
  const partial = `${path}.partial`;
  await mkdir(dirname(path), { recursive: true });
  const there = await stat(path).catch(() => null);
  if (there?.isFile() === false) throw new InputError('output_not_ours', `${path} exists, and is no file that could be replaced`, { hint: 'Name another file.' });
  try {
    await discard(partial);
    await (await open(partial, 'wx', 0o600)).close();
    const written = await write(partial);
    await rename(partial, path);
    await flush(dirname(path));
    return written;
  } catch (error) {
    await discard(partial);
    throw error;
  }
}

/** What was written so far, and the journal that SQLite leaves beside it when it could not even undo that. */
async function discard(partial: string): Promise<void> {
  for (const path of [partial, `${partial}-journal`]) await rm(path, { force: true });
}

/** Makes a file, or the names in a folder, survive a power cut. */
export async function flush(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
