/** Cuts bytes into lines, events and the parts of a batch. Pure. */
import { DataServiceError } from '../data-service-error.ts';
import { CsvRecords, joined } from './csv-records.ts';

/** Most bytes of one line or event. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_PART_BYTES = 4 * 1024 * 1024;
/** The greatest size of a part. */
const LONGEST_LINE_BYTES = 64 * 1024 * 1024;
const LINE_FEED = 0x0a;
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;

/** Lines out of pieces of any length, without their ends. */
export class LineReader {
  #rest: Uint8Array[] = [];
  #size = 0;

  /** The lines that end in this piece. @throws DataServiceError `bad_body` for a line of more than 16 MiB */
  *feed(piece: Uint8Array): Generator<string> {
    let from = 0;
    for (let end = piece.indexOf(LINE_FEED); end >= 0; end = piece.indexOf(LINE_FEED, from)) {
      this.#add(piece.subarray(from, end));
      from = end + 1;
      yield this.#take();
    }
    if (from < piece.length) this.#add(piece.subarray(from));
  }

  /** The text behind the last line end, unless it is empty. */
  *end(): Generator<string> {
    if (this.#size > 0) yield this.#take();
  }

  #add(bytes: Uint8Array): void {
    this.#size += bytes.length;
    if (this.#size > MAX_LINE_BYTES) throw tooLong('a line');
    this.#rest.push(bytes);
  }

  #take(): string {
    const line = new TextDecoder().decode(joined(this.#rest));
    this.#rest = [];
    this.#size = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
}

function tooLong(what: string): DataServiceError {
  const message = `${what} is longer than ${MAX_LINE_BYTES} bytes (bad_body)`;
  return new DataServiceError(message, { code: 'bad_body', status: 200, retryable: false });
}

export interface StreamEvent {
  /** The last id that the stream named; null before the first. */
  readonly id: string | null;
  readonly data: string;
}

/** Events out of the lines of an event stream (HTML standard, 9.2.6). */
export class EventReader {
  #id: string | null = null;
  #data: string[] = [];
  #size = 0;

  /** The event that this line ends, or null. @throws DataServiceError `bad_body` for an event of more than 16 MiB */
  line(line: string): StreamEvent | null {
    if (line === '') {
      const data = this.#data;
      this.#data = [];
      this.#size = 0;
      return data.length === 0 ? null : { id: this.#id, data: data.join('\n') };
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    this.#size += value.length;
    if (this.#size > MAX_LINE_BYTES) throw tooLong('an event');
    if (name === 'id') this.#id = value;
    return null;
  }
}

/** Gathers whole lines into parts of at most 4 MiB, unless one line is longer. */
export class PartCutter {
  #part: Uint8Array | null = null;
  #size = 0;

  /** Takes whole lines with their ends. Returns the part before them when they do not fit into it, else null. */
  add(lines: Uint8Array): Uint8Array | null {
    const part = this.#size > 0 && this.#size + lines.length > MAX_PART_BYTES ? this.rest() : null;
    this.#part ??= new Uint8Array(Math.max(MAX_PART_BYTES, lines.length));
    this.#part.set(lines, this.#size);
    this.#size += lines.length;
    return part;
  }

  /** The part that has begun; empty without one. */
  rest(): Uint8Array {
    const part = this.#part?.subarray(0, this.#size) ?? new Uint8Array();
    this.#part = null;
    this.#size = 0;
    return part;
  }
}

/** One line of a part: an object as JSON, a text as it is. */
export function toLine(line: object | string): Uint8Array {
  const text = typeof line === 'string' ? line : JSON.stringify(line);
  return new TextEncoder().encode(text.endsWith('\n') ? text : `${text}\n`);
}

/** The lines of a file with their ends; of CSV its records, some of which have several lines. @throws RangeError for a line of 64 MiB */
export async function* fileLines(blocks: AsyncIterable<Uint8Array>, isCsv: boolean): AsyncGenerator<Uint8Array> {
  const records = new CsvRecords();
  let rest: Uint8Array[] = [];
  let size = 0;
  let isFirst = true;
  const cut = (lines: Uint8Array[]): Iterable<Uint8Array> => {
    const [first] = lines;
    if (isCsv && isFirst && first !== undefined && BYTE_ORDER_MARK.every((byte, at) => first[at] === byte)) lines[0] = first.subarray(3);
    if (first !== undefined) isFirst = false;
    return isCsv ? records.push(lines) : lines;
  };
  for await (const block of blocks) {
    const end = block.lastIndexOf(LINE_FEED);
    rest.push(end < 0 ? block : block.subarray(0, end + 1));
    size += block.length;
    if (end >= 0) {
      yield* cut(linesIn(joined(rest)));
      rest = [block.subarray(end + 1)];
      size = block.length - end - 1;
    }
    if (size > LONGEST_LINE_BYTES) throw new RangeError(`a line is longer than ${LONGEST_LINE_BYTES} bytes, which no part can have`);
  }
  if (size > 0) yield* cut([joined([...rest, Uint8Array.of(LINE_FEED)])]);
  if (isCsv) yield* records.finish();
}

/** The lines of a text that ends with a line end. */
function linesIn(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < bytes.length;) {
    const next = bytes.indexOf(LINE_FEED, from) + 1;
    lines.push(bytes.subarray(from, next));
    from = next;
  }
  return lines;
}
