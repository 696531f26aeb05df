/** The rows of a Parquet file, row group by row group, from any row on. */
import { assembleNested } from 'hyparquet/src/assemble.js';
import { DEFAULT_PARSERS } from 'hyparquet/src/convert.js';
import { BATCH_RECORDS, BLOCKS_BYTES, GROUP_AT_ONCE_BYTES, MAX_BATCH_CELLS } from '../limits.ts';
import { cellValue, columnTypeOf, type Cell } from './column-type.ts';
import { readFooter, type ParquetColumn, type ParquetFooter, type RowGroupPlace } from './footer.ts';
import { HeldBytes, LeafCursor } from './leaf-cursor.ts';
import { PageBytes, type Block } from './page-bytes.ts';
import { asUnreadable, readBytes, type ParquetSource } from './read-bytes.ts';

/** Some rows, column by column. */
export interface RowBatch {
  /** Number of the first row in the file, from 0. */
  readonly first: number;
  readonly rows: number;
  readonly columns: readonly (readonly Cell[])[];
}

/** @param from number of the first row, from 0 @throws InputError `input_parquet`, and the errors of the source */
export async function* readParquetRows(file: ParquetSource, from: number, signal?: AbortSignal): AsyncGenerator<RowBatch, void, void> {
  const footer = await readFooter(file, signal);
  const size = Math.max(1, Math.min(BATCH_RECORDS, Math.floor(MAX_BATCH_CELLS / footer.columns.length)));
  let first = 0;
  for (const group of footer.groups) {
    const skipped = Math.max(0, from - first);
    if (skipped < group.rows) {
      try {
        yield* groupRows(file, footer, group, first, skipped, size, signal);
      } catch (error) {
        throw asUnreadable(file.uri, error, signal);
      }
    }
    first += group.rows;
  }
}

async function* groupRows(
  file: ParquetSource,
  footer: ParquetFooter,
  group: RowGroupPlace,
  first: number,
  skipped: number,
  size: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<RowBatch, void, void> {
  const cursors = await openCursors(file, footer, group, signal);
  await Promise.all(cursors.map((cursor) => cursor.skip(skipped)));
  for (let row = skipped; row < group.rows; row += size) {
    signal?.throwIfAborted();
    const rows = Math.min(size, group.rows - row);
    await Promise.all(cursors.map((cursor) => cursor.need(rows)));
    yield { first: first + row, rows, columns: footer.columns.map((column) => columnCells(column, footer, cursors, rows)) };
  }
}

async function openCursors(
  file: ParquetSource,
  { leaves }: ParquetFooter,
  { chunks }: RowGroupPlace,
  signal: AbortSignal | undefined,
): Promise<LeafCursor[]> {
  const start = Math.min(...chunks.map((chunk) => chunk.start));
  const end = Math.max(...chunks.map((chunk) => chunk.end));
  const whole: Block | null = end - start <= GROUP_AT_ONCE_BYTES ? { start, bytes: await readBytes(file, start, end, signal) } : null;
  const blockBytes = Math.floor(BLOCKS_BYTES / chunks.length);
  const held = new HeldBytes();
  return leaves.map((leaf, index) => {
    const chunk = chunks[index];
    if (chunk === undefined) throw new RangeError('a row group is damaged');
    return new LeafCursor(leaf, chunk, new PageBytes(file, chunk, whole, blockBytes, signal), held);
  });
}

function columnCells(
  { tree, leaves }: ParquetColumn,
  footer: ParquetFooter,
  cursors: readonly LeafCursor[],
  rows: number,
): readonly Cell[] {
  const [only] = leaves;
  if (leaves.length === 1 && only !== undefined && footer.leaves[only]?.path.length === 2 && footer.leaves[only].maxRepetition === 0)
    return cursors[only]?.cells(rows) ?? [];
  const parts = new Map<string, unknown[]>();
  for (const index of leaves) {
    const leaf = footer.leaves[index];
    if (leaf === undefined) continue;
    const type = columnTypeOf(leaf.element);
    parts.set(leaf.path.at(-1)?.path.join('.') ?? '', cursors[index]?.nested(rows, (cell) => cellValue(cell, type)) ?? []);
  }
  if (tree.children.length > 0) assembleNested(parts as never, tree, DEFAULT_PARSERS);
  const assembled = parts.get(tree.element.name) ?? [];
  if (assembled.length !== rows) throw new RangeError(`its column ${tree.element.name} has levels that do not fit its rows`);
  return assembled.map((value) => (value === null || value === undefined ? null : JSON.stringify(value)));
}
