/** Creates a folder and its missing parents. */
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Like `mkdir -p`. Node's own recursive mkdir never returns when a file system answers ENOENT below an existing folder, as /proc does.
 * @param mode of each created folder; default: as the umask leaves it
 * @throws the system's error when a folder cannot be created, or a file has its name
 */
export function makeFolders(path: string, mode?: number): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (isFolder(path)) return;
    const parent = dirname(path);
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || parent === path) throw error;
    makeFolders(parent, mode);
    makeOne(path, mode);
  }
}

/** Creates a folder whose parent exists. Another process may create it at the same time. */
function makeOne(path: string, mode: number | undefined): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    if (!isFolder(path)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
