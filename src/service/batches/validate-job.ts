/** Goes through all lines of a job before the first is worked on: how many there are, and whether it is worth beginning. */
import type { BatchOperation } from '../operations/batches.ts';
import type { Reason } from './batch-rows.ts';
import { toLine, type RawLine } from './input.ts';
import { MAX_LINES } from './limits.ts';
import { linesAhead, type Source } from './lines-ahead.ts';
import { isReadable, readHeader } from './lines.ts';
import type { Pacer } from './pacer.ts';

/** Lines looked at between two turns of others. */
const AT_ONCE = 5_000;

export interface Valid {
  readonly total: number;
  readonly header: readonly string[] | null;
}

/** @param goesOn whether it is still wanted; null is returned once it is not @throws what the disk says */
export async function validateJob(source: Source, operation: BatchOperation, pacer: Pacer, goesOn: () => boolean): Promise<Valid | Reason | null> {
  const header = source.format === 'csv' ? await headerOf(source, operation) : null;
  if (header !== null && 'wrong' in header) return { code: 'bad_header', detail: header.wrong };
  const known = { ...source, header };
  let total = 0;
  let readable = false;
  let place = { part: 0, offset: 0 };
  for (;;) {
    const { lines, part } = await linesAhead(known, place, AT_ONCE);
    const [first, last] = [lines[0], lines.at(-1)];
    if (first === undefined || last === undefined) break;
    if (header !== null && part !== place.part && isAnyHeader(first, operation)) return { code: 'bad_header', detail: `part ${part} begins with another header than the table: all parts have the same columns in the same order` };
    total += lines.length;
    place = { part, offset: last.next };
    let at = 0;
    await pacer.work(() => {
      const line = lines[at++];
      readable ||= line !== undefined && isReadable(toLine(line, source.format, header));
      return readable || at >= lines.length;
    });
    if (!goesOn()) return null;
    if (total > MAX_LINES) return { code: 'too_many_lines', detail: `a job takes ${MAX_LINES.toLocaleString('en')} lines at most` };
  }
  return readable ? { total, header } : { code: 'no_readable_line', detail: total === 0 ? 'there is no line' : 'no line can be read' };
}

/** Whether a row is made of nothing but names of columns: as data it would be refused, and the cells below it be taken for other columns'. */
function isAnyHeader({ kind, bytes }: RawLine, operation: BatchOperation): boolean {
  return kind === 'whole' && !('wrong' in readHeader(bytes.toString('utf8'), operation));
}

async function headerOf(source: Source, operation: BatchOperation): Promise<readonly string[] | { readonly wrong: string }> {
  const { lines } = await linesAhead({ ...source, header: null }, { part: 0, offset: 0 }, 1);
  const [first] = lines;
  if (first === undefined) return { wrong: 'there is no header' };
  return first.kind === 'whole' ? readHeader(first.bytes.toString('utf8'), operation) : { wrong: 'the first line is too long to be a header' };
}
