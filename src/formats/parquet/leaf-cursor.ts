/** Moves through one leaf of one row group, page by page. */
import { assembleLists } from 'hyparquet/src/assemble.js';
import { MAX_HELD_BYTES } from '../limits.ts';
import type { Cell } from './column-type.ts';
import type { Chunk, Leaf } from './footer.ts';
import type { PageBytes } from './page-bytes.ts';
import { BYTES_PER_VALUE, readDictionary, readPage, readPageHead, type NextCell, type Page } from './pages.ts';

/** The memory of all leaves together, so that hostile columns cannot take all of it. */
export class HeldBytes {
  #held = 0;

  change(by: number): void {
    this.#held += by;
    if (this.#held > MAX_HELD_BYTES)
      throw new RangeError(`its pages take more than ${MAX_HELD_BYTES} bytes at once: write it with smaller pages`);
  }
}

/** A page under way. */
interface OpenPage extends Page {
  /** Values and missing values that were taken. */
  at: number;
  /** About its memory, in bytes. */
  readonly size: number;
}

export class LeafCursor {
  readonly #leaf: Leaf;
  readonly #chunk: Chunk;
  readonly #bytes: PageBytes;
  readonly #held: HeldBytes;
  #dictionary: readonly Cell[] | null = null;
  #dictionarySize = 0;
  #pages: OpenPage[] = [];
  /** Rows that begin in these pages and were not taken. */
  #rows = 0;

  constructor(leaf: Leaf, chunk: Chunk, bytes: PageBytes, held: HeldBytes) {
    this.#leaf = leaf;
    this.#chunk = chunk;
    this.#bytes = bytes;
    this.#held = held;
  }

  /** True when each value is a row. */
  get #isFlat(): boolean {
    return this.#leaf.maxRepetition === 0;
  }

  /** Rows that are complete. The last row of a repeated leaf may go on in the next page. */
  get #complete(): number {
    return !this.#isFlat && this.#bytes.left > 0 ? Math.max(0, this.#rows - 1) : this.#rows;
  }

  /** Reads pages until this many rows are there. @throws RangeError when the column has fewer */
  async need(rows: number): Promise<void> {
    while (this.#complete < rows) await this.#load(0);
  }

  /** Passes rows, and does not read the pages that lie within them. */
  async skip(rows: number): Promise<void> {
    let left = rows;
    while (left > 0) {
      if (this.#complete === 0) {
        left -= await this.#load(left);
        continue;
      }
      const passed = Math.min(left, this.#complete);
      this.#take(passed, (level, _, next) => void (level === this.#leaf.maxDefinition && next()));
      left -= passed;
    }
  }

  /** The next rows of a leaf that is a column. */
  cells(rows: number): Cell[] {
    const cells: Cell[] = [];
    this.#take(rows, (level, _, next) => cells.push(level === this.#leaf.maxDefinition ? next() : null));
    return cells;
  }

  /** The next rows of a leaf within a nested column, as lists within lists. @param convert makes a value of its JSON */
  nested(rows: number, convert: (cell: Cell) => unknown): unknown[] {
    const definitions: number[] = [];
    const repetitions: number[] = [];
    const values: unknown[] = [];
    this.#take(rows, (definition, repetition, next) => {
      definitions.push(definition);
      repetitions.push(repetition);
      if (definition === this.#leaf.maxDefinition) values.push(convert(next()));
    });
    return assembleLists([], definitions, this.#isFlat ? [] : repetitions, values, this.#leaf.path) as unknown[];
  }

  /** Takes the values and missing values of the next rows. */
  #take(rows: number, each: (definition: number, repetition: number, next: NextCell) => void): void {
    const { maxDefinition } = this.#leaf;
    let begun = 0;
    for (let page = this.#pages[0]; page !== undefined; page = this.#pages[0]) {
      for (; page.at < page.count; page.at++) {
        const repetition = page.repetitions?.[page.at] ?? 0;
        if (repetition === 0 && ++begun > rows) {
          this.#rows -= rows;
          return;
        }
        const definition = page.definitions?.[page.at] ?? maxDefinition;
        each(definition, repetition, page.next);
      }
      this.#held.change(-page.size);
      this.#pages.shift();
    }
    this.#rows -= rows;
  }

  /** Reads the next page, or passes it when it has no more rows than `skipped`. Returns the rows that were passed. */
  async #load(skipped: number): Promise<number> {
    if (this.#bytes.left <= 0)
      throw new RangeError(`its column ${this.#leaf.path.at(-1)?.path.join('.')} has fewer rows than its row group`);
    const head = await readPageHead(this.#bytes, skipped > 0);
    const { header, count } = head;
    const size = header.uncompressed_page_size + count * BYTES_PER_VALUE;
    if (header.type === 'DICTIONARY_PAGE') {
      this.#held.change(size - this.#dictionarySize);
      this.#dictionarySize = size;
      this.#dictionary = await readDictionary(head, this.#bytes, this.#leaf, this.#chunk);
      return 0;
    }
    if (header.type === 'INDEX_PAGE' || (this.#isFlat && count <= skipped)) {
      this.#bytes.skip(header.compressed_page_size);
      return this.#isFlat && header.type !== 'INDEX_PAGE' ? count : 0;
    }
    this.#held.change(size);
    const page = await readPage(head, this.#bytes, this.#leaf, this.#chunk, this.#dictionary);
    if (this.#rows === 0 && this.#pages.length === 0 && (page.repetitions?.[0] ?? 0) > 0)
      throw new RangeError('a page begins within a row');
    this.#pages.push({ ...page, at: 0, size });
    if (page.repetitions === null) this.#rows += page.count;
    else for (const level of page.repetitions) if (level === 0) this.#rows += 1;
    return 0;
  }
}
