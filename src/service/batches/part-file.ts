/** A part of a job on its way to the disk. */
import type { Readable } from 'node:stream';
import { isFull, isOfDisk } from '../../sqlite/system-code.ts';
import type { BatchFile } from './batch-files.ts';
import type { BatchFolder } from './folder.ts';
import { MAX_PART_BYTES } from './limits.ts';
import { diskFull, full, tooLarge } from './refusals.ts';

/**
 * Writes a part as it comes, and has it noted once it is flushed. Returns its bytes.
 * @param note returns the name of the file that was in its place @throws ServiceError when it is too large, or the disk does not take it; whatever `note` throws, and then nothing of it is left
 */
export async function writePart(folder: BatchFolder, id: string, n: number, body: Readable, note: (part: BatchFile) => Promise<string | null>): Promise<number> {
  try {
    if (folder.isReserved()) throw diskFull();
    return await write(folder, id, n, body, note);
  } catch (error) {
    if (isFull(error)) throw diskFull();
    throw isOfDisk(error) ? full('the disk cannot be written; send the part again later') : error;
  }
}

async function write(folder: BatchFolder, id: string, n: number, body: Readable, note: (part: BatchFile) => Promise<string | null>): Promise<number> {
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
    unneeded = await note({ n, file, bytes });
    return bytes;
  } finally {
    await handle.close();
    // Nobody knows of it any more: what cannot be removed is left to the sweep.
    if (unneeded !== null) await folder.retire(id, [unneeded]).catch(() => undefined);
  }
}
