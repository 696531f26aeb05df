/** Atomic writes: a file is complete at all times. Temporary file, flush, rename, flush of the folder. */
import { constants } from 'node:fs';
import { copyFile, open, rm } from 'node:fs/promises';
import { takeName, type Fence } from './fence.ts';

/**
 * Replaces the file at `path` by `text`, completely or not at all; mode 0600.
 * @throws MillraceError 75 when the job was lost, else the disk's error
 */
export async function replaceFile(path: string, text: string, fence: Fence): Promise<void> {
  const temporary = fence.temporary(path);
  try {
    // An existing file there would keep its own mode, and a link would lead elsewhere.
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await takeName(path, fence);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Copies `from` to the name `to`, flushed, completely or not at all. @throws the disk's error, or MillraceError 75 when the job was lost
 */
export async function copyAs(from: string, to: string, fence: Fence): Promise<void> {
  const copy = fence.temporary(to);
  try {
    await rm(copy, { force: true });
    await copyFile(from, copy, constants.COPYFILE_FICLONE);
    const file = await open(copy, 'r+');
    try {
      await file.datasync();
    } finally {
      await file.close();
    }
    await takeName(to, fence);
  } catch (error) {
    await rm(copy, { force: true }).catch(() => undefined);
    throw error;
  }
}
