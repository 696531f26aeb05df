/** Writing files so that they are at all times whole: temporary file, flush, rename, flush of the folder. */
import { constants } from 'node:fs';
import { copyFile, open, rm } from 'node:fs/promises';
import { takeName, type Fence } from './fence.ts';

/** Replaces the file at `path` by `text`, whole or not at all; mode 0600. @throws MillraceError 75 when the job was lost, else what the disk says */
export async function replaceFile(path: string, text: string, fence: Fence): Promise<void> {
  const temporary = fence.temporary(path);
  try {
    // What a failure left there, or somebody put there, would keep its own mode, or lead elsewhere.
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

/** A copy of `from` takes the name `to`, flushed and whole. @throws what the disk says, or 75 when the job was lost */
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
