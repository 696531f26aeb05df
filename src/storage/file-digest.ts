import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { StorageError, storageHint } from '../util/errors.ts';

const CHUNK_BYTES = 256 * 1024;

/** SHA-256 (hex) of a complete output. @param also receives the same bytes. @throws StorageError */
export async function fileSha256(path: string, also?: { update(bytes: Buffer): void }): Promise<string> {
  const hash = createHash('sha256');
  try {
    // One buffer for all reads. A stream would allocate one for each chunk, faster than they are collected.
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    const file = await open(path);
    try {
      for (;;) {
        const { bytesRead } = await file.read(buffer);
        if (bytesRead === 0) break;
        hash.update(buffer.subarray(0, bytesRead));
        also?.update(buffer.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  } catch (error) {
    throw new StorageError('output_failed', `${path} could not be read again: ${(error as Error).message}`, {
      hint: storageHint(error),
      cause: error,
    });
  }
  return hash.digest('hex');
}
