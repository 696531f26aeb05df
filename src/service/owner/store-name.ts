/** The one name of a store, whatever it is called by. */
import { lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { InputError } from '../../errors.ts';

/**
 * Resolves symbolic links and other spellings. Of a file with several names (hard links) it is the one with a log beside it, else the first in order:
 * SQLite keeps a log for each name, and two logs ruin the file (sqlite.org/howtocorrupt.html, 2.5). A file that is missing keeps its name.
 * @throws InputError when the file has a name in another folder, which cannot be found
 */
export function nameOfStore(path: string): string {
  const real = realPath(path);
  const found = statSync(real, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.nlink < 2) return real;
  const folder = dirname(real);
  const names = readdirSync(folder).filter((name) => isSame(join(folder, name), found)).toSorted();
  if (names.length < found.nlink) {
    throw new InputError('store_linked', `The store ${path} has another name in another folder (a hard link), and a store has one name`, {
      hint: `Remove the other names: find / -xdev -samefile ${real} lists them. For a copy: millrace export --backup FILE.`,
    });
  }
  const name = names.find((one) => statSync(join(folder, `${one}-wal`), { throwIfNoEntry: false }) !== undefined) ?? names[0] ?? basename(real);
  return join(folder, name);
}

/** Of a file that is missing it is its folder's, and what a link that leads nowhere names. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    try {
      return join(realpathSync.native(dirname(path)), basename(path));
    } catch {
      return path;
    }
  }
}

function isSame(path: string, { ino, dev }: { readonly ino: number; readonly dev: number }): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.ino === ino && found.dev === dev;
}
