import { lstat, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { StorageError } from '../../util/errors.ts';
import { makeFolders } from '../../util/files/make-folders.ts';

/** A new folder in `scratch` or the temporary directory, for files that are useless after the command. @throws StorageError */
export async function scratchFolder(scratch: string | null): Promise<string> {
  const parent = scratch === null ? tmpdir() : resolve(scratch);
  try {
    makeFolders(parent);
    return await mkdtemp(join(parent, 'millrace-'));
  } catch (error) {
    throw new StorageError('scratch_failed', `No scratch folder could be made in ${parent}: ${(error as Error).message}`, {
      hint: 'Name another one with --scratch, or in TMPDIR.',
      cause: error,
    });
  }
}

/**
 * Makes the folder of a file that stays. In the temporary directory it must belong to this user and be closed to others, because another
 * user could make it first.
 * @throws StorageError
 */
export async function makeOwnFolder(folder: string): Promise<void> {
  const hint = 'Name another one with --scratch, or in TMPDIR.';
  try {
    makeFolders(folder, 0o700);
    if (dirname(folder) !== tmpdir()) return;
    const { uid, mode } = await lstat(folder);
    if (process.getuid !== undefined && (uid !== process.getuid() || (mode & 0o077) !== 0)) throw new Error('others may look into it');
  } catch (error) {
    throw new StorageError('scratch_failed', `The folder ${folder} cannot be used for the ledger's copy: ${(error as Error).message}`, {
      hint,
      cause: error,
    });
  }
}
