/** Reads the results of a job as a stream: a chunk of a file at a time, one set of them or all, without whoever was erased since. */
import { open, type FileHandle } from 'node:fs/promises';
import { ServiceError } from '../errors.ts';
import type { ResultSet } from '../operations/batches.ts';
import type { BatchFile } from './batch-files.ts';
import type { Cut } from './erased.ts';
import { FileCut } from './folder.ts';
import { readKept, RESULT_HEADER, shownLine, type Kept, type Shape } from './result-lines.ts';

const CHUNK = 64 * 1024;
const LF = 0x0a;

/** The kept lines of an open file, those of a chunk together; closes it. @throws what the disk says */
export async function* keptLines(file: FileHandle, size: number): AsyncGenerator<Kept[]> {
  try {
    let left = Buffer.alloc(0);
    for (let at = 0; at < size; ) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(CHUNK, size - at)), 0, undefined, at);
      if (bytesRead === 0) throw new FileCut('the file of results is shorter than it was');
      at += bytesRead;
      const bytes = Buffer.concat([left, buffer.subarray(0, bytesRead)]);
      const lines: Kept[] = [];
      let from = 0;
      for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, from)) {
        lines.push(readKept(bytes.subarray(from, end)));
        from = end + 1;
      }
      left = bytes.subarray(from);
      yield lines;
    }
  } finally {
    await file.close();
  }
}

/** Opens the file that has a place now: while those before it were read, an erasure may have put another one there and removed the first. @throws ServiceError when the job was deleted */
async function openNow(fileNow: () => BatchFile | undefined, pathOf: (file: string) => string): Promise<{ readonly handle: FileHandle; readonly bytes: number }> {
  let tried: string | null = null;
  for (;;) {
    const now = fileNow();
    if (now === undefined || now.file === tried) throw new ServiceError('not_found', 'the files of this job are gone');
    try {
      return { handle: await open(pathOf(now.file), 'r'), bytes: now.bytes };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      tried = now.file;
    }
  }
}

/** @param filesNow asked again for each file @param cutNow asked again for each chunk: somebody may be erased while the results are read */
export async function* shownResults(filesNow: () => readonly BatchFile[], pathOf: (file: string) => string, set: ResultSet | null, shape: Shape, cutNow: () => Cut | null): AsyncGenerator<string> {
  if (shape.format === 'csv') yield RESULT_HEADER;
  for (const { n } of filesNow()) {
    const { handle, bytes } = await openNow(() => filesNow().find((file) => file.n === n), pathOf);
    for await (const lines of keptLines(handle, bytes)) {
      const cut = cutNow();
      const text = lines.map((kept) => shown(kept, set, shape, cut)).join('');
      if (text !== '') yield text;
    }
  }
}

function shown(kept: Kept, set: ResultSet | null, shape: Shape, cut: Cut | null): string {
  const left = cut?.(kept) ?? null;
  const now = left === null ? kept : readKept(Buffer.from(left.text.slice(0, -1)));
  return set === null || now.isOf(set) ? shownLine(now.json, shape) : '';
}
