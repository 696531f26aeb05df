/** The lock file. Creating it, handing it on and removing it are atomic, so one run alone succeeds. */
import { hash, randomUUID } from 'node:crypto';
import { link, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isAt } from '../util/files/is-at.ts';
import { restoreName, hasNoLinks } from '../storage/fence.ts';
import { isStale, lockFailed, ourselves, readHolder, type Holder } from './holder.ts';

/**
 * Creates the lock with its content at once (a hard link to a complete file), so that no reader sees half of it. Null when the lock exists.
 */
export async function createLock(path: string, holder: Holder): Promise<FileHandle | null> {
  const temporary = `${path}.${holder.nonce}.tmp`;
  try {
    const file = await createWhole(temporary, holder);
    try {
      await link(temporary, path);
      return file;
    } catch (error) {
      await file.close();
      // A reader may see half of this file, which counts as a holder that has just renewed.
      if (hasNoLinks(error)) return await createWhole(path, holder);
      // Another run has removed the file (`sweepLock`), or the folder is gone, which the next attempt reports.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw lockFailed(path, 'written', error);
  }
}

/** Creates a new file with the holder. On a failure no file is left. */
async function createWhole(path: string, holder: Holder): Promise<FileHandle> {
  const file = await open(path, 'wx+', 0o600);
  try {
    await file.writeFile(JSON.stringify(holder));
    await file.datasync();
    return file;
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
}

/**
 * Takes over the lock of a stale holder. The lock exists at all times, and names `successor` when its file is returned, so its record of
 * the predecessor is never lost.
 * To succeed this one holder, a run takes a lock of its own, the claim. The claim file then becomes the lock; it does not matter which run
 * renames it.
 * @returns `under way` when another run is taking over
 */
export async function takeOverLock(
  path: string,
  expected: Holder,
  successor: Holder,
  now: number,
): Promise<FileHandle | 'changed' | 'under way'> {
  const claim = `${path}.${shortHash(expected.nonce)}.next`;
  const file = await createLock(claim, successor);
  if (file === null) {
    const claimant = await readHolder(claim);
    if (claimant !== null && !isStale(claimant, now)) return 'under way';
    // The claimant died during the takeover.
    return claimant === null || (await removeStale(claim, claimant, now)) ? 'changed' : 'under way';
  }
  try {
    if ((await readHolder(path))?.nonce === expected.nonce) await rename(claim, path).catch(unlessMissing);
    if (await isAt(file, path)) return file;
    await removeLock(claim, successor.nonce);
  } catch (error) {
    await file.close();
    throw lockFailed(path, 'written', error);
  }
  await file.close();
  return 'changed';
}

/**
 * Removes the claim of a stale run. No file system removes a file only if it has a given content, so a slow remover could delete a
 * successor's claim. The removal therefore has a lock of its own, named after the claimant.
 * @returns false when another run is removing it
 */
async function removeStale(path: string, expected: Holder, now: number): Promise<boolean> {
  const removal = `${path}.${shortHash(expected.nonce)}.removal`;
  const file = await createLock(removal, ourselves(now));
  if (file === null) {
    const remover = await readHolder(removal);
    if (remover !== null && isStale(remover, now)) await removeStale(removal, remover, now);
    return false;
  }
  try {
    if ((await readHolder(path))?.nonce === expected.nonce) await removeLock(path, expected.nonce);
    return true;
  } finally {
    await file.close();
    await rm(removal, { force: true });
  }
}

/** Removes the lock if it has this nonce. The file is renamed, read again, and renamed back if it is another. */
export async function removeLock(path: string, nonce: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.stale`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const moved = await readHolder(aside);
  const meant = moved === null || moved.nonce === nonce;
  if (meant) await rm(aside, { force: true });
  else await restoreName(aside, path);
}

/** Removes files that killed runs have left beside the lock. Never throws. */
export async function sweepLock(path: string, now: number): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.(?:tmp|next|removal|stale)$/.test(name)) continue;
    const holder = await readHolder(join(folder, name)).catch(() => null);
    // An empty file: its run was killed while it created it. A paused run finds no file to link and creates another.
    if (holder !== null && (isStale(holder, now) || holder.nonce === ''))
      await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

function shortHash(nonce: string): string {
  return hash('sha256', nonce).slice(0, 8);
}
