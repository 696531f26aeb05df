/** Reads the next lines of a job, across its parts. */
import type { BatchFormat } from './batch-operations.ts';
import type { BatchFile } from './batch-files.ts';
import type { BatchRow, BatchRows, InputPosition } from './batch-rows.ts';
import type { BatchFolder } from './batch-folder.ts';
import { isHeader, readLines, type RawLine } from './read-lines.ts';
import { LeaseLost } from './commit.ts';

export interface NextLines {
  readonly lines: readonly RawLine[];
  /** The part that all these lines belong to. */
  readonly part: number;
}

export interface BatchParts {
  /** The first part with this number or a higher one; null after the last. A job may have ten thousand, so they are not listed. */
  readonly partFrom: (n: number) => BatchFile | null;
  readonly pathOf: (file: string) => string;
  readonly format: BatchFormat;
  /** The header of a CSV job; null for ndjson, and before it is read. */
  readonly header: readonly string[] | null;
}

/** The parts of a job as a source of lines. Reading throws LeaseLost once `stopped` returns true. */
export function batchParts(
  { rows, folder, stopped }: { readonly rows: BatchRows; readonly folder: BatchFolder; readonly stopped: () => boolean },
  row: BatchRow,
): BatchParts {
  const partFrom: BatchParts['partFrom'] = (n) => {
    // Many parts without a line may follow each other, so a stop is checked before each.
    if (stopped()) throw new LeaseLost();
    return rows.files.partFrom(row, n);
  };
  return { partFrom, pathOf: (file) => folder.at(row.id, file), format: row.request.format, header: row.header };
}

/** Up to `limit` lines of one part from a position on, without headers; empty after the last part. @throws errors of the disk */
export async function nextLines(
  { partFrom, pathOf, format, header }: BatchParts,
  { part, offset }: Pick<InputPosition, 'part' | 'offset'>,
  limit: number,
): Promise<NextLines> {
  for (let next = partFrom(part); next !== null; next = partFrom(next.n + 1)) {
    const { n, file, bytes } = next;
    for (let at = n === part ? offset : 0; at < bytes;) {
      const lines = await readLines(pathOf(file), at, bytes, format, limit);
      const [first] = lines;
      if (first === undefined) break;
      const rows = at === 0 && header !== null && isHeader(first, header) ? lines.slice(1) : lines;
      if (rows.length > 0) return { lines: rows, part: n };
      at = first.next;
    }
  }
  return { lines: [], part };
}
