/** Splits an input into ranges, so that several processes can each read a part of it. */
import { CHUNK_BYTES } from '../formats/limits.ts';
import { splitFile, type Filled } from '../formats/split-file.ts';
import { SplitPoints, type SplitPoint } from './split-candidates.ts';
import type { Codec } from '../formats/encodings/codec.ts';
import type { Splitter } from '../formats/csv/splitter.ts';
import type { InputFile, InputManifest, Position } from '../formats/input-record.ts';

/** A run of `records` records from `from` on. Null is the beginning. Plain JSON. */
export interface InputRange {
  readonly from: Position | null;
  /** The number of records before it. */
  readonly before: number;
  readonly records: number;
}

interface SplitOptions {
  /** The number of ranges. */
  readonly of: number;
  /** A long range begins at a multiple of this many records. 1: anywhere. */
  readonly group: number;
  readonly signal?: AbortSignal | undefined;
  readonly chunkBytes?: number;
  /** For tests: the number of candidates held. */
  readonly mostPoints?: number;
}

/** The white space of JSON (RFC 8259, 2). */
const JSON_SPACES: readonly number[] = [0x20, 0x09, 0x0d, 0x0a];

/** A byte order mark in UTF-8, to which the other encodings that have one are converted. */
const FIRST_OF_BOM = 0xef;
const BOM_BYTES = 3;

/** Ranges with fewer groups than this begin anywhere. Whole groups would make their lengths too different. */
const LEAST_GROUPS = 10;

/**
 * Splits the input into ranges that contain each record once and follow one another. A pure function of the input and the options.
 * It frames the whole input, because only that tells a line end from one within quotes.
 * Ranges are alike in records, over all files and formats, because calls are paid by the record. In an archive a range begins with a frame
 * (gzip member, zstd frame), so a boundary within a frame moves to its nearer end. Ranges may be empty. @throws as reading does
 */
export async function findSplitPoints(manifest: InputManifest, options: SplitOptions): Promise<InputRange[]> {
  if (manifest.format === 'parquet') return splitRows(manifest, options);
  const anywhere = new SplitPoints(1, options.mostPoints);
  const grouped = new SplitPoints(options.group, options.mostPoints);
  let records = 0;
  for (const file of manifest.files) {
    const beginnings = new Beginnings(file, manifest.format === 'jsonl');
    for await (const filled of splitFile(file, file.start, { chunkBytes: options.chunkBytes ?? CHUNK_BYTES, signal: options.signal })) {
      options.signal?.throwIfAborted();
      for (const begin of beginnings.of(filled)) {
        anywhere.note(records, begin);
        grouped.note(records, begin);
        records++;
      }
    }
  }
  const long = records >= options.of * options.group * LEAST_GROUPS;
  return toRanges((long ? grouped : anywhere).nearest(options.of, records), options.of, records);
}

/** Parquet states its rows, and any row is reached without reading those before it. */
function splitRows({ files }: InputManifest, { of, group }: SplitOptions): InputRange[] {
  const records = files.reduce((sum, { rows = 0 }) => sum + rows, 0);
  const step = records >= of * group * LEAST_GROUPS ? group : 1;
  const found: SplitPoint[] = [];
  for (let k = 1; k < of; k++) {
    const before = Math.round((records * k) / of / step) * step;
    const from = rowPosition(files, before);
    if (from !== null && before > (found.at(-1)?.before ?? 0)) found.push({ from, before });
  }
  return toRanges(found, of, records);
}

/** The position of a row of the whole input; null after the last. */
function rowPosition(files: readonly InputFile[], row: number): Position | null {
  let first = 0;
  for (const [file, { rows = 0 }] of files.entries()) {
    if (row < first + rows) return { file, line: row - first + 1, offset: row - first, frame: null };
    first += rows;
  }
  return null;
}

/** Consecutive ranges from their first records. The ranges after the last record are empty. */
function toRanges(found: readonly SplitPoint[], of: number, records: number): InputRange[] {
  const beginnings = [{ from: null, before: 0 }, ...found];
  return Array.from({ length: of }, (_, i) => {
    const { from, before } = beginnings[i] ?? { from: null, before: records };
    return { from, before, records: (beginnings[i + 1]?.before ?? records) - before };
  });
}

/** Finds the beginning of each record in one file. It takes complete records out of a splitter. */
class Beginnings {
  readonly #json: boolean;
  readonly #file: number;
  #line: number;
  #offset: number;

  constructor({ start }: InputFile, json: boolean) {
    this.#json = json;
    this.#file = start.file;
    this.#line = start.line;
    this.#offset = start.offset;
  }

  *of({ splitter, codec, frames }: Filled): Generator<Position, void, void> {
    while (splitter.next()) {
      // Only with the record itself is the frame known that begins with it.
      const begin = { file: this.#file, line: this.#line, offset: this.#offset, frame: frames.at(this.#offset) };
      this.#line = splitter.nextLine;
      this.#offset = splitter.nextOffset;
      if (!this.#json || !isBlankJson(splitter, codec)) yield begin;
    }
  }
}

/** True for white space alone, also behind a byte order mark, which `readJsonlRecords` does not count as a record. */
function isBlankJson(splitter: Splitter, codec: Codec): boolean {
  const bytes = splitter.kind === 'overlong' ? splitter.head : splitter.buffer.subarray(splitter.start, splitter.end);
  const from = bytes[0] === FIRST_OF_BOM && codec.text(bytes, 0, BOM_BYTES) === '\ufeff' ? BOM_BYTES : 0;
  return bytes.subarray(from).every((byte) => JSON_SPACES.includes(byte));
}
