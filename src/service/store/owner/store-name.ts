/** The canonical path of a store. */
import { lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { InputError } from '../../../util/errors.ts';

/** The path of the books beside a store. @param store its resolved path */
export function booksOf(store: string): string {
  return `${store.replace(/\.sqlite$/, '')}.books.sqlite`;
}

/**
 * Resolves symbolic links and other spellings. Among several hard links in a folder it takes the one with a log beside it, else the first
 * by name.
 * SQLite keeps a log for each name, and two logs ruin the file (sqlite.org/howtocorrupt.html, 2.5). A missing file keeps its name.
 * @throws InputError when the file has a hard link in another folder, which cannot be found
 */
export function nameOfStore(path: string): string {
  const real = realPath(path);
  const found = statSync(real, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.nlink < 2) return real;
  const folder = dirname(real);
  const names = readdirSync(folder)
    .filter((name) => isSame(join(folder, name), found))
    .toSorted();
  if (names.length < found.nlink) {
    throw new InputError('store_linked', `The store ${path} has another name in another folder (a hard link), and a store has one name`, {
      hint: `Remove the other names: find / -xdev -samefile ${real} lists them. For a copy: millrace export --backup FILE.`,
    });
  }
  const name =
    names.find((one) => statSync(join(folder, `${one}-wal`), { throwIfNoEntry: false }) !== undefined) ?? names[0] ?? basename(real);
  return join(folder, name);
}

/** The number of links that Linux follows (path_resolution(7)). */
const MOST_LINKS = 40;

/** For a missing file, the real folder with its name; for a dangling link, its target, because the store will be created there. */
function realPath(path: string, links = 0): string {
  try {
    return realpathSync.native(path);
  } catch {
    const target = links < MOST_LINKS ? targetOf(path) : null;
    if (target !== null) return realPath(resolve(dirname(path), target), links + 1);
    try {
      return join(realpathSync.native(dirname(path)), basename(path));
    } catch {
      return path;
    }
  }
}

/** Null when it is not a link. */
function targetOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function isSame(path: string, { ino, dev }: { readonly ino: number; readonly dev: number }): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.ino === ino && found.dev === dev;
}
