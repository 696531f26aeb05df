/** Compares paths that may be spelt differently: relative or absolute, direct or through symbolic links. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The absolute form of a local path. URIs, `-` and the empty text are not paths, and are returned as they are. */
export function absolutePlace(uri: string): string {
  return uri === '' || uri === '-' || uri.includes('://') ? uri : resolve(uri);
}

/**
 * True when two spellings mean the same file. The disk is read only if the texts differ. For a path that does not exist yet, or a glob, its
 * existing folders are compared.
 */
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
