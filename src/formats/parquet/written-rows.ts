/** Reads the rows of a Parquet file that Millrace has written, as they were before their row groups. */
import type { WrittenRowReader } from '../written-rows.ts';
import type { Position } from '../input-record.ts';
import { readParquetRows, type RowBatch } from './parquet-rows.ts';
import type { ParquetSource } from './read-bytes.ts';
import { encodeCells } from './written-cells.ts';

/** Positions count rows. */
export class WrittenParquetRows implements WrittenRowReader {
  readonly #batches: ReturnType<typeof readParquetRows>;
  #batch: RowBatch | null = null;
  #row: number;

  constructor(file: ParquetSource, from: Pick<Position, 'offset'>, signal?: AbortSignal) {
    this.#batches = readParquetRows(file, from.offset, signal);
    this.#row = from.offset;
  }

  get position(): Pick<Position, 'offset' | 'frame'> {
    return { offset: this.#row, frame: null };
  }

  async next(): Promise<Buffer | null> {
    while (this.#batch === null || this.#row >= this.#batch.first + this.#batch.rows) {
      const found = await this.#batches.next();
      if (found.done === true) return null;
      this.#batch = found.value;
    }
    const { first, columns } = this.#batch;
    const at = this.#row - first;
    this.#row += 1;
    return encodeCells(columns.map((cells) => cells[at] ?? null));
  }

  async close(): Promise<void> {
    await this.#batches.return();
  }
}
