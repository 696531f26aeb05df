/** The lines that a job has before it, over all its parts. */
import type { BatchFormat } from '../operations/batches.ts';
import type { BatchFile } from './batch-files.ts';
import type { BatchRow, BatchRows, Place } from './batch-rows.ts';
import type { BatchFolder } from './folder.ts';
import { isHeader, readChunk, type RawLine } from './input.ts';
import { Dismissed } from './notes.ts';

export interface Ahead {
  readonly lines: readonly RawLine[];
  /** Of the part that all of these lines are in. */
  readonly part: number;
}

export interface Source {
  /** The first part from this number on; null: there is none. One at a time: a job may have ten thousand, and a round reads of one. */
  readonly partFrom: (n: number) => BatchFile | null;
  readonly pathOf: (file: string) => string;
  readonly format: BatchFormat;
  /** Null: none, or not known yet. */
  readonly header: readonly string[] | null;
}

/** The parts of a job. @param stopped whether no more of them are to be read: then that throws Dismissed */
export function sourceOf({ rows, folder, stopped }: { readonly rows: BatchRows; readonly folder: BatchFolder; readonly stopped: () => boolean }, row: BatchRow): Source {
  const partFrom: Source['partFrom'] = (n) => {
    // Parts without a line are read one after the other, and there may be many.
    if (stopped()) throw new Dismissed();
    return rows.files.partFrom(row, n);
  };
  return { partFrom, pathOf: (file) => folder.at(row.id, file), format: row.request.format, header: row.header };
}

/** Up to `most` lines of one part from `place` on; none at the end of the last one. Headers are passed over. @throws what the disk says */
export async function linesAhead({ partFrom, pathOf, format, header }: Source, { part, offset }: Pick<Place, 'part' | 'offset'>, most: number): Promise<Ahead> {
  for (let next = partFrom(part); next !== null; next = partFrom(next.n + 1)) {
    const { n, file, bytes } = next;
    let at = n === part ? offset : 0;
    // Before the first line there may be as many blank ones as somebody likes.
    let mayBeHeader = header !== null && at === 0;
    while (at < bytes) {
      const { lines, next: end } = await readChunk(pathOf(file), at, bytes, format, most);
      const [first] = lines;
      const own = mayBeHeader && header !== null && first !== undefined && isHeader(first, header) ? lines.slice(1) : lines;
      if (own.length > 0) return { lines: own, part: n };
      mayBeHeader &&= first === undefined;
      at = end;
    }
  }
  return { lines: [], part };
}
