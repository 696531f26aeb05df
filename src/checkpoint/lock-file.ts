/** The file of a lock: made whole by one alone, handed on to one alone, taken away by whoever made it. */
import { hash, randomUUID } from 'node:crypto';
import { link, open, readdir, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isAt } from '../storage/is-at.ts';
import { giveBack, hasNoLinks } from './fence.ts';
import { isStale, lockFailed, ourselves, readHolder, type Holder } from './holder.ts';

/** Creates the lock with its content at once (a link to a finished file), so that nobody ever reads half of it. Null: it exists. */
export async function tryCreate(path: string, holder: Holder): Promise<FileHandle | null> {
  const temporary = `${path}.${holder.nonce}.tmp`;
  try {
    const file = await createWhole(temporary, holder);
    try {
      await link(temporary, path);
      return file;
    } catch (error) {
      await file.close();
      // Then whoever looks too early reads half of it, which counts as a holder that has just renewed.
      if (hasNoLinks(error)) return await createWhole(path, holder);
      // Swept away by another run, see `sweepLock`; or the folder is gone, which the next look says.
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

/** A new file that holds the holder, or none at all. */
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
 * Takes the place of a stale holder: `successor` is in the lock when its file is returned, and at no time is there no
 * lock, so what it says of its predecessor is never lost. `under way`: somebody else is taking it.
 *
 * Several may want to. The claim to be the successor of just this holder is a lock of its own, and its file becomes the
 * lock; who moved it there does not matter, only whose it is.
 */
export async function succeed(path: string, expected: Holder, successor: Holder, now: number): Promise<FileHandle | 'changed' | 'under way'> {
  const claim = `${path}.${shortHash(expected.nonce)}.next`;
  const file = await tryCreate(claim, successor);
  if (file === null) {
    const claimant = await readHolder(claim);
    if (claimant !== null && !isStale(claimant, now)) return 'under way';
    // It died over it.
    return claimant === null || (await removeStale(claim, claimant, now)) ? 'changed' : 'under way';
  }
  try {
    if ((await readHolder(path))?.nonce === expected.nonce) await rename(claim, path).catch(unlessMissing);
    if (await isAt(file, path)) return file;
    await takeAway(claim, successor.nonce);
  } catch (error) {
    await file.close();
    throw lockFailed(path, 'written', error);
  }
  await file.close();
  return 'changed';
}

/**
 * Removes the claim of somebody who is stale. No file system removes a file only if it still is what one has read, so a
 * slow remover could take away a successor's claim: the removal has a lock of its own, named after the claimant.
 * False: somebody else is removing it.
 */
async function removeStale(path: string, expected: Holder, now: number): Promise<boolean> {
  const removal = `${path}.${shortHash(expected.nonce)}.removal`;
  const file = await tryCreate(removal, ourselves(now));
  if (file === null) {
    const remover = await readHolder(removal);
    if (remover !== null && isStale(remover, now)) await removeStale(removal, remover, now);
    return false;
  }
  try {
    if ((await readHolder(path))?.nonce === expected.nonce) await takeAway(path, expected.nonce);
    return true;
  } finally {
    await file.close();
    await rm(removal, { force: true });
  }
}

/** Removes the lock if it is the one with this nonce. Looks again once it is out of the way, and gives back what was not meant. */
export async function takeAway(path: string, nonce: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.stale`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  const moved = await readHolder(aside);
  const meant = moved === null || moved.nonce === nonce;
  if (meant) await rm(aside, { force: true });
  else await giveBack(aside, path);
}

/** Removes what runs have left beside the lock that were killed while they took it or let it go. Never throws. */
export async function sweepLock(path: string, now: number): Promise<void> {
  const folder = dirname(path);
  for (const name of await readdir(folder).catch(() => [])) {
    if (!name.startsWith(`${basename(path)}.`) || !/\.(?:tmp|next|removal|stale)$/.test(name)) continue;
    const holder = await readHolder(join(folder, name)).catch(() => null);
    // Not a byte in it: whoever made it was killed right then. Should it only be paused, it finds no file to link and makes another.
    if (holder !== null && (isStale(holder, now) || holder.nonce === '')) await rm(join(folder, name), { force: true }).catch(() => undefined);
  }
}

function unlessMissing(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}

function shortHash(nonce: string): string {
  return hash('sha256', nonce).slice(0, 8);
}
