/** Finds out which file a path names. */
import { stat, type FileHandle } from 'node:fs/promises';

/** True when the open file is the one at `path`. While it is open, no other file can get its inode number. */
export async function isAt(file: FileHandle, path: string): Promise<boolean> {
  const [ours, there] = await Promise.all([file.stat(), stat(path).catch(nullIfMissing)]);
  return there !== null && there.ino === ours.ino && there.dev === ours.dev;
}

/** Returns null for a file that does not exist. @throws any other error */
export function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

/** True when the error says that no file exists at the path. */
export function isMissing(error: unknown): boolean {
  // ENOTDIR: a file stands in place of a folder. Writing there reports it.
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '');
}
