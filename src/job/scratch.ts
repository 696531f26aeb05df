import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { StorageError } from '../errors.ts';

/** A new folder, in `scratch` or the temporary directory, for what is of no use after the command. @throws StorageError */
export async function scratchFolder(scratch: string | null): Promise<string> {
  const parent = scratch === null ? tmpdir() : resolve(scratch);
  try {
    await mkdir(parent, { recursive: true });
    return await mkdtemp(join(parent, 'millrace-'));
  } catch (error) {
    throw new StorageError('scratch_failed', `No scratch folder could be made in ${parent}: ${(error as Error).message}`, { hint: 'Name another one with --scratch, or in TMPDIR.', cause: error });
  }
}
