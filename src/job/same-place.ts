/** Whether two spellings mean one place: relative to the working directory or not, and through symbolic links. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The absolute path of a local one; URIs, `-` and the empty text are no paths, and stay as they are. */
export function absolutePlace(uri: string): string {
  return uri === '' || uri === '-' || uri.includes('://') ? uri : resolve(uri);
}

/** Looks at the disk only where the texts differ. Of a path that does not exist yet, or of a glob, the folders that exist count. */
export function isSamePlace(one: string, other: string): boolean {
  const [here, there] = [absolutePlace(one), absolutePlace(other)];
  return here === there || (here.startsWith('/') && there.startsWith('/') && realPlace(here) === realPlace(there));
}

function realPlace(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(realPlace(folder), basename(path));
  }
}
