/**
 * Fencing: a run that was paused and lost its job cannot change the files of its successor. It may wake up at any moment, also between its
 * check of the lock and the call that follows.
 * A file gets its name only by a rename from a temporary name that no other run uses, and the run checks the lock when the temporary file
 * already exists.
 * A successor removes all temporary files before it reads anything. A rename that comes too late has nothing to rename.
 */
import { link, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StorageError, storageHint } from '../util/errors.ts';
import { isAt, isMissing, nullIfMissing } from '../util/files/is-at.ts';
import { syncFolder } from '../util/files/sync-folder.ts';

/** The right of a run to change the files of its job. */
export interface Fence {
  /** Eight hexadecimal digits, unique to this run. They are part of the names that only this run writes. */
  readonly id: string;
  /** The temporary name for a file that will be renamed to `path`. */
  temporary(path: string): string;
  /** @throws MillraceError 75 when the job belongs to another run now */
  check(): Promise<void>;
}

export function temporaryName(path: string, id: string): string {
  return `${path}.${id}.tmp`;
}

/** The final name behind a temporary one. Null for other names. */
export function temporaryOf(path: string): string | null {
  return /^(.+)\.[0-9a-f]{8}\.tmp$/s.exec(path)?.[1] ?? null;
}

/**
 * Renames the temporary file, which is complete and flushed, to `path`, and flushes the folder.
 * @throws MillraceError 75 when the job was lost, else the disk's error
 */
export async function takeName(path: string, fence: Fence): Promise<void> {
  await fence.check();
  try {
    await rename(fence.temporary(path), path);
  } catch (error) {
    if (isMissing(error)) await fence.check();
    throw error;
  }
  await syncFolder(dirname(path));
}

/** Removes a file of the job if it exists, and never a file that another run has put in its place. */
export async function removeFile(path: string, fence: Fence): Promise<void> {
  const file = await open(path, 'r').catch(nullIfMissing);
  if (file === null) return;
  try {
    // The file was opened before the lock is checked, so it existed while the job belonged to this run.
    await fence.check();
    await removeSame(path, file, fence.temporary(path));
  } finally {
    await file.close();
  }
}

/** No file system removes a file only if it is a given one. The file is renamed, compared, and renamed back if it is another. */
async function removeSame(path: string, file: FileHandle, aside: string): Promise<void> {
  if (!(await isAt(file, path))) return;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (await isAt(file, aside)) await rm(aside, { force: true });
  else await restoreName(aside, path);
}

/** Gives a file that was moved aside by mistake its name again, unless a new file has that name meanwhile. Never throws. */
export async function restoreName(aside: string, path: string): Promise<void> {
  try {
    // A link never replaces an existing file.
    await link(aside, path);
  } catch (error) {
    if (!hasNoLinks(error)) return rm(aside, { force: true }).catch(() => undefined);
    // Disks without hard links offer no atomic way. Only the moment between these two calls is unprotected.
    if ((await stat(path).catch(() => null)) === null) return rename(aside, path).catch(() => undefined);
  }
  await rm(aside, { force: true }).catch(() => undefined);
}

/** Removes the temporary files of earlier runs for these names. Call it before any file of the job is read. */
export async function sweep(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const folder = dirname(path);
    try {
      const names = (await readdir(folder).catch(nullIfMissing)) ?? [];
      for (const name of names) if (temporaryOf(name) === basename(path)) await rm(join(folder, name), { force: true });
    } catch (error) {
      throw new StorageError('output_failed', `what earlier runs left beside ${path} could not be removed: ${(error as Error).message}`, {
        hint: storageHint(error),
        cause: error,
      });
    }
  }
}

/** True for disks without hard links: FAT, some FUSE and network disks, and some sandboxes (link(2)). */
export function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes((error as NodeJS.ErrnoException).code ?? '');
}
