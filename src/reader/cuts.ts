/** Where an input is cut, so that several processes can each read a part of it. */
import { CHUNK_BYTES } from './limits.ts';
import { splitFile, type Filled } from './split-file.ts';
import { SplitPoints, type SplitPoint } from './split-points.ts';
import type { Splitter } from './splitter.ts';
import type { InputFile, InputManifest, Position } from './types.ts';

/** A run of records: as many as `records`, from `from` on (null: the beginning). Plain JSON. */
export interface InputRange {
  readonly from: Position | null;
  /** Records before it. */
  readonly before: number;
  readonly records: number;
}

export interface CutOptions {
  /** How many ranges. */
  readonly of: number;
  /** Where the ranges are long, each begins at a multiple of so many records; 1: anywhere. */
  readonly group: number;
  readonly signal?: AbortSignal | undefined;
  readonly chunkBytes?: number;
  /** For tests: how many places are held to choose from. */
  readonly mostPoints?: number;
}

/** RFC 8259, 2. */
const JSON_SPACES: readonly number[] = [0x20, 0x09, 0x0d, 0x0a];

/** Ranges of fewer groups than this are not rounded to whole ones: they would differ too much in length. */
const LEAST_GROUPS = 10;

/**
 * Cuts the input into ranges that hold each record once and follow one another. It reads the whole input, framing it
 * and nothing else, because only that tells a line end from one within quotes.
 *
 * The ranges are alike in records, over all files together and whatever their kinds: a call is paid by the record. In an archive a
 * range begins with a frame (gzip member, zstd frame), so a boundary within a frame goes to its nearer end. Ranges may be empty.
 * A pure function of the input and the options. Throws what reading throws.
 */
export async function findCuts(manifest: InputManifest, options: CutOptions): Promise<InputRange[]> {
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

/** Consecutive ranges from their first records. Behind the last one, ranges are empty. */
function toRanges(found: readonly SplitPoint[], of: number, records: number): InputRange[] {
  const beginnings = [{ from: null, before: 0 }, ...found];
  return Array.from({ length: of }, (_, i) => {
    const { from, before } = beginnings[i] ?? { from: null, before: records };
    return { from, before, records: (beginnings[i + 1]?.before ?? records) - before };
  });
}

/** Takes whole records out of a splitter and says where each began. One for each file. */
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

  *of({ splitter, frames }: Filled): Generator<Position, void, void> {
    while (splitter.next()) {
      // Only now that the record is here is the frame certain to be known that begins with it.
      const begin = { file: this.#file, line: this.#line, offset: this.#offset, frame: frames.at(this.#offset) };
      this.#line = splitter.nextLine;
      this.#offset = splitter.nextOffset;
      if (!this.#json || !isBlankJson(splitter)) yield begin;
    }
  }
}

/** As `readJsonlRecords` sees it: white space alone is no record. */
function isBlankJson(splitter: Splitter): boolean {
  const bytes = splitter.kind === 'overlong' ? splitter.head : splitter.buffer.subarray(splitter.start, splitter.end);
  return bytes.every((byte) => JSON_SPACES.includes(byte));
}
