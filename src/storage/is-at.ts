/** Which file a name stands for, if any. */
import { stat, type FileHandle } from 'node:fs/promises';

/** Whether the open file is the one at `path`. As long as it is open, no other file can have its inode number. */
export async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [ours, there] = await Promise.all([file.stat(), stat(path).catch(noneIfMissing)]);
  return there !== null && there.ino === ours.ino && there.dev === ours.dev;
}

/** For what may be missing. @throws any other error */
export function noneIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/** Whether an error says that nothing is at a path. */
export function isMissing(error: unknown): boolean {
  // ENOTDIR: a file stands where the folder should be, and whoever wants to write there says so.
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
