/** Reads the results of a job as a stream: a chunk of a file at a time, one set of them or all, without whoever was erased since. */
import { open } from 'node:fs/promises';
import type { BatchFormat, ResultSet } from '../operations/batches.ts';
import type { BatchFile } from './batch-rows.ts';
import type { Cut } from './erased.ts';
import { readKept, RESULT_HEADER, shownLine, type Kept } from './result-lines.ts';

const CHUNK = 64 * 1024;
const LF = 0x0a;

/** The kept lines of a file, those of a chunk together. @throws what the disk says */
export async function* keptLines(path: string, size: number): AsyncGenerator<Kept[]> {
  const file = await open(path, 'r');
  try {
    let left = Buffer.alloc(0);
    for (let at = 0; at < size; ) {
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(Math.min(CHUNK, size - at)), 0, undefined, at);
      if (bytesRead === 0) throw new Error('the file of results is shorter than it was');
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

/** @param cutNow asked again for each chunk: somebody may be erased while the results are read */
export async function* shownResults(files: readonly BatchFile[], pathOf: (file: string) => string, set: ResultSet | null, format: BatchFormat, cutNow: () => Cut | null): AsyncGenerator<string> {
  if (format === 'csv') yield RESULT_HEADER;
  for (const { file, bytes } of files) {
    for await (const lines of keptLines(pathOf(file), bytes)) {
      const cut = cutNow();
      const text = lines.map((kept) => shown(kept, set, format, cut)).join('');
      if (text !== '') yield text;
    }
  }
}

function shown(kept: Kept, set: ResultSet | null, format: BatchFormat, cut: Cut | null): string {
  const left = cut?.(kept) ?? null;
  const now = left === null ? kept : readKept(Buffer.from(left.text.slice(0, -1)));
  return set === null || now.isOf(set) ? shownLine(now.json, format) : '';
}
