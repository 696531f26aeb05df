import { open } from 'node:fs/promises';

/** Makes a rename in this folder survive a power cut. Folders that cannot be flushed (some network disks) are let be. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r').catch(() => null);
  if (folder === null) return;
  try {
    await folder.sync().catch(() => undefined);
  } finally {
    await folder.close();
  }
}
