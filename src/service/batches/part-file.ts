/** Writes a part of a job to the disk. */
import type { Readable } from 'node:stream';
import { isFull, isDiskFailure } from '../../sqlite/system-code.ts';
import type { BatchFile } from './batch-files.ts';
import type { BatchFolder } from './batch-folder.ts';
import { MAX_PART_BYTES } from './batch-limits.ts';
import { diskFull, full, tooLarge } from './refusals.ts';

/**
 * Streams a part to a file, flushes it, then calls `record`. Returns the size of the part in bytes.
 * @param record stores the part, and returns the name of the file that it replaces
 * @throws ServiceError when the part is too large, or the disk is full; errors of `record`. Then the file is removed.
 */
export async function writePart(
  folder: BatchFolder,
  id: string,
  n: number,
  body: Readable,
  record: (part: BatchFile) => Promise<string | null>,
): Promise<number> {
  try {
    if (folder.isReserved()) throw diskFull();
    return await write(folder, id, n, body, record);
  } catch (error) {
    if (isFull(error)) throw diskFull();
    throw isDiskFailure(error) ? full('the disk cannot be written; send the part again later') : error;
  }
}

async function write(
  folder: BatchFolder,
  id: string,
  n: number,
  body: Readable,
  record: (part: BatchFile) => Promise<string | null>,
): Promise<number> {
  const { file, handle } = await folder.create(id, `part-${n}`);
  let unneeded: string | null = file;
  try {
    let bytes = 0;
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_PART_BYTES) throw tooLarge();
      await handle.writeFile(chunk as Buffer);
    }
    await handle.datasync();
    unneeded = await record({ n, file, bytes });
    return bytes;
  } finally {
    await handle.close();
    // The janitor removes the file later if it cannot be removed now.
    if (unneeded !== null) await folder.retire(id, [unneeded]).catch(() => undefined);
  }
}
