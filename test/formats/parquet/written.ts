/** Parquet files for tests, written by our own writer. */
import { encodeRowGroup, footerBytes, MAGIC, type RowGroupNote, type WrittenColumn } from '../../../src/formats/parquet/row-groups.ts';
import type { Cell } from '../../../src/formats/parquet/column-type.ts';
import { encodeCells } from '../../../src/formats/parquet/written-cells.ts';

/** @param groups the rows of each row group */
export function parquetOf(columns: readonly WrittenColumn[], groups: readonly (readonly (readonly Cell[])[])[]): Buffer {
  const parts: Buffer[] = [MAGIC];
  const notes: RowGroupNote[] = [];
  let at = MAGIC.length;
  for (const rows of groups) {
    if (rows.length === 0) continue;
    const { bytes, note } = encodeRowGroup(columns, rows.map(encodeCells));
    parts.push(bytes);
    notes.push({ ...note, at });
    at += bytes.length;
  }
  return Buffer.concat([...parts, footerBytes(columns, notes)]);
}

export function parquetFile(columns: readonly WrittenColumn[], rows: readonly (readonly Cell[])[]): Buffer {
  return parquetOf(columns, [rows]);
}
