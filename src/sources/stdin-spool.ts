/** Spools standard input into a file, so that a resume can read it again. */
import { createWriteStream } from 'node:fs';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { StorageError } from '../util/errors.ts';
import { makeFolders } from '../util/files/make-folders.ts';

/** Writes all of `stdin` to `path` (mode 0600) and flushes it to the disk. @throws StorageError `spool_failed` */
export async function spool(stdin: NodeJS.ReadableStream, path: string, signal: AbortSignal | undefined): Promise<void> {
  try {
    makeFolders(dirname(path));
    await pipeline(stdin, createWriteStream(path, { mode: 0o600, flush: true }), signal === undefined ? {} : { signal });
  } catch (error) {
    signal?.throwIfAborted();
    throw new StorageError(
      'spool_failed',
      `Standard input could not be kept in ${path}: ${error instanceof Error ? error.message : String(error)}.`,
      {
        hint: 'Make room there, or name another folder with --scratch, and run again.',
        cause: error,
      },
    );
  }
}
