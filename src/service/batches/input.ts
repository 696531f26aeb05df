/** Reads lines of a part, so many bytes at a time. */
import { open, type FileHandle } from 'node:fs/promises';
import type { BatchFormat } from '../operations/batches.ts';
import { readCells } from './csv.ts';
import { FileCut } from './folder.ts';
import { afterBlanks, framer, isBlank, type Framed } from './frame.ts';
import { ROUND_BYTES } from './limits.ts';
import { namesIn, readLine, TOO_LONG, type Line } from './lines.ts';

const LF = 0x0a;
const BOM = Buffer.from('\u{feff}');

export interface RawLine {
  readonly kind: Framed['kind'];
  readonly bytes: Buffer;
  /** Where the next one begins in the part. */
  readonly next: number;
}

export interface Chunk {
  readonly lines: readonly RawLine[];
  /** Where the next one begins that is not among them. */
  readonly next: number;
}

/** Lines from `offset` on, empty ones left out: `most` of them, or as many as end within a chunk of the file; at least one unless there is none. @throws what the disk says */
export async function readChunk(path: string, offset: number, size: number, format: BatchFormat, most: number): Promise<Chunk> {
  const file = await open(path, 'r');
  try {
    const bytes = await readAt(file, offset, Math.min(ROUND_BYTES, size - offset));
    const isLast = offset + bytes.length >= size;
    const lineAt = framer(bytes, format, isLast);
    const lines: RawLine[] = [];
    let at = offset === 0 && bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0;
    while (lines.length < most && (at = afterBlanks(bytes, at)) < bytes.length) {
      const line = lineAt(at);
      if (line === null) break;
      const isCut = line.kind === 'long' && line.next === bytes.length && bytes[line.next - 1] !== LF && !isLast;
      at = isCut ? (await endOfLine(file, offset + bytes.length, size)) - offset : line.next;
      if (!isBlank(bytes, line)) lines.push({ kind: line.kind, bytes: bytes.subarray(line.start, line.end), next: offset + at });
    }
    return { lines, next: offset + at };
  } finally {
    await file.close();
  }
}

/** What a raw line asks for. */
export function toLine({ kind, bytes }: RawLine, format: BatchFormat, header: readonly string[] | null): Line {
  return kind === 'long' ? TOO_LONG : readLine(bytes, format, header);
}

/** Whether a part's first line is the header of the job's table again. */
export function isHeader({ kind, bytes }: RawLine, header: readonly string[]): boolean {
  if (kind !== 'whole') return false;
  const cells = readCells(bytes.toString('utf8'));
  return !('wrong' in cells) && cells.length === header.length && namesIn(cells).every((name, at) => name === header[at]);
}

async function readAt(file: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(Math.max(0, length));
  let read = 0;
  while (read < length) {
    const { bytesRead } = await file.read(bytes, read, length - read, offset + read);
    if (bytesRead === 0) throw new FileCut();
    read += bytesRead;
  }
  return bytes;
}

/** Behind the next line end from `offset` on. */
async function endOfLine(file: FileHandle, offset: number, size: number): Promise<number> {
  for (let at = offset; at < size; ) {
    const bytes = await readAt(file, at, Math.min(ROUND_BYTES, size - at));
    const found = bytes.indexOf(LF);
    if (found !== -1) return at + found + 1;
    at += bytes.length;
  }
  return size;
}
