/**
 * How a run that was paused and lost its job is kept from changing the files of the one that took over: it may wake at
 * any moment, also between looking at the lock and the call that it looked for.
 *
 * A file takes its name only by a rename from a temporary name that no other run uses, and the lock is looked at when
 * that temporary file is already there. Whoever takes a job over sweeps all of them away before it reads anything. So
 * a rename that comes too late has nothing to rename.
 */
import { link, open, readdir, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { StorageError, storageHint } from '../errors.ts';
import { isAt, isMissing, noneIfMissing } from '../storage/is-at.ts';
import { syncFolder } from '../storage/sync-folder.ts';

/** A run's right to change the files of its job. */
export interface Fence {
  /** Eight digits that no other run has: a part of the names that are this run's alone. */
  readonly id: string;
  /** Where to write what is to take the name `path`. */
  temporary(path: string): string;
  /** @throws MillraceError 75 when the job belongs to another run by now */
  check(): Promise<void>;
}

export function temporaryName(path: string, id: string): string {
  return `${path}.${id}.tmp`;
}

/** Whose temporary file this is; null: no such file. */
export function temporaryOf(path: string): string | null {
  return /^(.+)\.[0-9a-f]{8}\.tmp$/s.exec(path)?.[1] ?? null;
}

/** The temporary file, which is whole and flushed, takes its name, for good. @throws MillraceError 75 when the job was lost, else what the disk says */
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

/** Removes a file of the job, if there is one, and never the one that another run has put in its place. */
export async function removeFile(path: string, fence: Fence): Promise<void> {
  const file = await open(path, 'r').catch(noneIfMissing);
  if (file === null) return;
  try {
    // Opened before the look at the lock: it was there while the job was ours.
    await fence.check();
    await removeSame(path, file, fence.temporary(path));
  } finally {
    await file.close();
  }
}

/** No file system removes a file only if it still is the one that is meant: it is moved out of the way, looked at, and given back. */
async function removeSame(path: string, file: FileHandle, aside: string): Promise<void> {
  if (!(await isAt(file, path))) return;
  try {
    await rename(path, aside);
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  if (await isAt(file, aside)) await rm(aside, { force: true });
  else await giveBack(aside, path);
}

/** What was moved out of the way and was not meant takes its name again, unless somebody has made a new file there in between. Never throws. */
export async function giveBack(aside: string, path: string): Promise<void> {
  try {
    // A link never replaces what is there.
    await link(aside, path);
  } catch (error) {
    if (!hasNoLinks(error)) return rm(aside, { force: true }).catch(() => undefined);
    // Such disks know no other way: only the moment between the two calls is left to chance.
    if ((await stat(path).catch(() => null)) === null) return rename(aside, path).catch(() => undefined);
  }
  await rm(aside, { force: true }).catch(() => undefined);
}

/** Removes the temporary files that earlier runs have left for these names. To be called before any of the job's files is read. */
export async function sweep(paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    const folder = dirname(path);
    try {
      const names = (await readdir(folder).catch(noneIfMissing)) ?? [];
      for (const name of names) if (temporaryOf(name) === basename(path)) await rm(join(folder, name), { force: true });
    } catch (error) {
      throw new StorageError('output_failed', `what earlier runs left beside ${path} could not be removed: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
    }
  }
}

/** FAT, some FUSE and network disks, and some sandboxes know no hard links (link(2)). */
export function hasNoLinks(error: unknown): boolean {
  return ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes((error as NodeJS.ErrnoException).code ?? '');
}
