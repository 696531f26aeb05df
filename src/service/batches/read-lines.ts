/** Reads lines of a part, in chunks of bounded size. */
import { open, type FileHandle } from 'node:fs/promises';
import { splitStrictly } from '../../formats/csv/split-cells.ts';
import { Splitter } from '../../formats/csv/splitter.ts';
import type { BatchFormat } from './batch-operations.ts';
import { FileTruncated } from './batch-folder.ts';
import { MAX_LINE_BYTES, CHUNK_INPUT_BYTES } from './batch-limits.ts';
import { namesIn, readLine, TOO_LONG_LINE, type Line } from './parse-line.ts';

const COMMA = 0x2c;
const BOM = Buffer.from('\u{feff}');

export interface RawLine {
  /** `long`: the line has more than `MAX_LINE_BYTES`, and `bytes` is empty. */
  readonly kind: 'complete' | 'long';
  readonly bytes: Buffer;
  /** The offset of the next line in the part. */
  readonly next: number;
}

/**
 * Non-blank lines from `offset` on: at most `limit`, and only lines that end within one chunk of the file. Empty at the end of the part.
 * @throws FileTruncated; errors of the disk
 */
export async function readLines(path: string, offset: number, size: number, format: BatchFormat, limit: number): Promise<RawLine[]> {
  const file = await open(path, 'r');
  try {
    const splitter = new Splitter({
      delimiter: format === 'csv' ? COMMA : null,
      strict: true,
      measure: (_bytes, from, to) => to - from,
      offset,
      line: 1,
      limits: { quoted: Infinity, record: MAX_LINE_BYTES },
    });
    const lines: RawLine[] = [];
    for (let at = offset; at < size && lines.length === 0;) {
      const bytes = await readAt(file, at, Math.min(CHUNK_INPUT_BYTES, size - at));
      splitter.push(bytes);
      if (at === 0 && bytes.subarray(0, BOM.length).equals(BOM)) splitter.skip(BOM.length);
      at += bytes.length;
      if (at >= size) splitter.finish();
      while (lines.length < limit && splitter.next()) {
        const { kind, buffer, start, end, nextOffset } = splitter;
        const isLong = kind === 'overlong';
        lines.push({ kind: isLong ? 'long' : 'complete', bytes: buffer.subarray(start, isLong ? start : end), next: nextOffset });
      }
    }
    return lines;
  } finally {
    await file.close();
  }
}

/** Parses a raw line. */
export function toLine({ kind, bytes }: RawLine, format: BatchFormat, header: readonly string[] | null): Line {
  return kind === 'long' ? TOO_LONG_LINE : readLine(bytes, format, header);
}

/** Whether the first line of a part repeats the header. */
export function isHeader({ kind, bytes }: RawLine, header: readonly string[]): boolean {
  if (kind !== 'complete') return false;
  const cells = splitStrictly(bytes.toString('utf8'));
  return !('wrong' in cells) && cells.length === header.length && namesIn(cells).every((name, at) => name === header[at]);
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, length));
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, offset + read);
    if (bytesRead === 0) throw new FileTruncated();
    read += bytesRead;
  }
  return bytes;
}
