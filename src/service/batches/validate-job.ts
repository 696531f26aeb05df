/** Validates a job before its first chunk: counts lines, checks headers, and checks that at least one line can be parsed. */
import type { BatchOperation } from './batch-operations.ts';
import type { Reason } from './batch-rows.ts';
import { toLine, type RawLine } from './read-lines.ts';
import { MAX_LINES } from './batch-limits.ts';
import { nextLines, type BatchParts } from './next-lines.ts';
import { isParsed, readHeader } from './parse-line.ts';
import type { Scheduler } from './scheduler.ts';

/** Lines that are read at once. */
const BATCH_LINES = 5_000;

export interface Valid {
  readonly total: number;
  readonly header: readonly string[] | null;
}

/** Validates a job; null when `isWanted` stopped it. @param isWanted false once the result is not needed @throws errors of the disk */
export async function validateJob(
  source: BatchParts,
  operation: BatchOperation,
  scheduler: Scheduler,
  isWanted: () => boolean,
): Promise<Valid | Reason | null> {
  const header = source.format === 'csv' ? await headerOf(source, operation) : null;
  if (header !== null && 'wrong' in header) return { code: 'bad_header', detail: header.wrong };
  const known = { ...source, header };
  let total = 0;
  let isAnyReadable = false;
  let position = { part: 0, offset: 0 };
  for (;;) {
    const { lines, part } = await nextLines(known, position, BATCH_LINES);
    const [first, last] = [lines[0], lines.at(-1)];
    if (first === undefined || last === undefined) break;
    if (header !== null && part !== position.part && isAnyHeader(first, operation))
      return {
        code: 'bad_header',
        detail: `part ${part} begins with another header than the table: all parts have the same columns in the same order`,
      };
    total += lines.length;
    position = { part, offset: last.next };
    let at = 0;
    await scheduler.run(() => {
      const line = lines[at++];
      isAnyReadable ||= line !== undefined && isParsed(toLine(line, source.format, header));
      return isAnyReadable || at >= lines.length;
    });
    if (!isWanted()) return null;
    if (total > MAX_LINES) return { code: 'too_many_lines', detail: `a job takes ${MAX_LINES.toLocaleString('en')} lines at most` };
  }
  return isAnyReadable ? { total, header } : { code: 'no_readable_line', detail: total === 0 ? 'there is no line' : 'no line can be read' };
}

/** Whether a row consists only of column names. Such a part has other columns, and its cells would get into wrong fields. */
function isAnyHeader({ kind, bytes }: RawLine, operation: BatchOperation): boolean {
  return kind === 'complete' && !('wrong' in readHeader(bytes.toString('utf8'), operation));
}

async function headerOf(source: BatchParts, operation: BatchOperation): Promise<readonly string[] | { readonly wrong: string }> {
  const { lines } = await nextLines({ ...source, header: null }, { part: 0, offset: 0 }, 1);
  const [first] = lines;
  if (first === undefined) return { wrong: 'there is no header' };
  return first.kind === 'complete'
    ? readHeader(first.bytes.toString('utf8'), operation)
    : { wrong: 'the first line is too long to be a header' };
}
