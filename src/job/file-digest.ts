import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { StorageError } from '../errors.ts';

const CHUNK_BYTES = 1024 * 1024;

/** SHA-256 (hex) over a whole output. @throws StorageError */
export async function fileSha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path, { highWaterMark: CHUNK_BYTES }), hash);
  } catch (error) {
    throw new StorageError('output_failed', `${path} could not be read again: ${(error as Error).message}`, { hint: 'Mend the folder, then run the same command: the job resumes.', cause: error });
  }
  return hash.digest('hex');
}
