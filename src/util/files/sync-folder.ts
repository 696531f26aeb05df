import { open } from 'node:fs/promises';

/** Errors of folders that can be written but not flushed: on some network disks, or without read permission. */
const NO_FLUSH = ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EBADF', 'EISDIR', 'EACCES', 'EPERM'];

/** Makes a rename in this folder survive a power cut. A folder that cannot be flushed is skipped. @throws the error of a failing disk */
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
