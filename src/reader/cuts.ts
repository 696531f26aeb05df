/** Where an input is cut, so that several processes can each read a part of it. */
import { CHUNK_BYTES } from './limits.ts';
import { splitFile, type Filled } from './split-file.ts';
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
}

/** RFC 8259, 2. */
const JSON_SPACES: readonly number[] = [0x20, 0x09, 0x0d, 0x0a];

/** Ranges of fewer groups than this are not rounded to whole ones: they would differ too much in length. */
const LEAST_GROUPS = 10;

/**
 * Cuts the input into ranges that hold each record once and follow one another. It reads the whole input, framing it
 * and nothing else, because only that tells a line end from one within quotes.
 *
 * The ranges are alike in bytes, those of archives in compressed ones. In an archive a range begins with a frame (gzip
 * member, zstd frame), so a file of one frame is read whole by one. Ranges may be empty.
 * A pure function of the input and the options. Throws what reading throws.
 */
export async function findCuts(manifest: InputManifest, options: CutOptions): Promise<InputRange[]> {
  const total = manifest.files.reduce((sum, file) => sum + weightOf(file), 0);
  const anywhere = new Cuts(total, options.of, 1);
  const grouped = new Cuts(total, options.of, options.group);
  let before = 0;
  let records = 0;
  for (const file of manifest.files) {
    const beginnings = new Beginnings(file, manifest.format === 'jsonl');
    for await (const filled of splitFile(file, file.start, { chunkBytes: options.chunkBytes ?? CHUNK_BYTES, signal: options.signal })) {
      options.signal?.throwIfAborted();
      for (const begin of beginnings.of(filled)) {
        const place = before + placeOf(begin, file);
        anywhere.note(place, records, begin);
        grouped.note(place, records, begin);
        records++;
      }
    }
    before += weightOf(file);
  }
  const long = records >= options.of * options.group * LEAST_GROUPS;
  return (long ? grouped : anywhere).ranges(records);
}

/** What a file counts when the bytes are shared out. */
function weightOf(file: InputFile): number {
  return file.compression === 'none' ? file.size - file.start.offset : file.size;
}

/** How much of that stands before a record. */
function placeOf(begin: Position, file: InputFile): number {
  return file.compression === 'none' ? begin.offset - file.start.offset : (begin.frame?.at ?? 0);
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

/** The first record at or behind each share of the bytes. Records are noted in order. */
class Cuts {
  readonly #total: number;
  readonly #of: number;
  readonly #group: number;
  readonly #found: { readonly from: Position; readonly before: number }[] = [];
  #target: number;

  constructor(total: number, of: number, group: number) {
    this.#total = total;
    this.#of = of;
    this.#group = group;
    this.#target = this.#share(1);
  }

  note(place: number, before: number, from: Position): void {
    // The first record is always the first range's.
    if (before === 0 || before % this.#group !== 0) return;
    while (place >= this.#target) {
      this.#found.push({ from, before });
      this.#target = this.#share(this.#found.length + 1);
    }
  }

  ranges(records: number): InputRange[] {
    const beginnings = [{ from: null, before: 0 }, ...this.#found];
    return Array.from({ length: this.#of }, (_, i) => {
      const { from, before } = beginnings[i] ?? { from: null, before: records };
      return { from, before, records: (beginnings[i + 1]?.before ?? records) - before };
    });
  }

  #share(k: number): number {
    return k < this.#of ? (this.#total * k) / this.#of : Infinity;
  }
}
