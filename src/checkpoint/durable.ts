/** Writing small files so that they are at all times whole: temporary file, flush, rename, flush of the folder. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What is said of folders that can be written and not flushed: by some network disks, and where they may not be read. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EBADF', 'EISDIR', 'EACCES', 'EPERM'];

/** Makes a rename in this folder survive a power cut. Folders that cannot be flushed are let be; a disk that fails is not. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!NO_FLUSH.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** Replaces the file at `path` by `text`, whole or not at all; mode 0600. One writer at a time. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    // What a crash left there, or somebody put there, would keep its own mode, or lead elsewhere.
    await rm(temporary, { force: true });
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.datasync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(dirname(path));
}
