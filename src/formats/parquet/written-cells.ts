/** Rows of a Parquet output before they become a row group: one line of JSON each. The same cells give the same bytes. Pure. */
import type { Cell } from './column-type.ts';

/** A cell that JSON has no form for. */
type Tagged = { readonly i: string } | { readonly d: string } | { readonly b: string };

export function encodeCells(cells: readonly Cell[]): Buffer {
  return Buffer.from(JSON.stringify(cells.map(tagged)));
}

export function decodeCells(row: Buffer): Cell[] {
  return (JSON.parse(row.toString('utf8')) as (Exclude<Cell, bigint | Uint8Array> | Tagged)[]).map(untagged);
}

function tagged(cell: Cell): unknown {
  switch (typeof cell) {
    case 'bigint':
      return { i: String(cell) };
    case 'number':
      return Number.isFinite(cell) && !Object.is(cell, -0) ? cell : { d: Object.is(cell, -0) ? '-0' : String(cell) };
    case 'string':
      // An unpaired surrogate has no bytes in UTF-8.
      return cell.toWellFormed();
    case 'object':
      return cell === null ? null : { b: Buffer.from(cell.buffer, cell.byteOffset, cell.byteLength).toString('base64') };
    default:
      return cell;
  }
}

function untagged(cell: Exclude<Cell, bigint | Uint8Array> | Tagged): Cell {
  if (typeof cell !== 'object' || cell === null) return cell;
  if ('i' in cell) return BigInt(cell.i);
  return 'd' in cell ? Number(cell.d) : new Uint8Array(Buffer.from(cell.b, 'base64'));
}
