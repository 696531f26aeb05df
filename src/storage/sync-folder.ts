import { open } from 'node:fs/promises';

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
