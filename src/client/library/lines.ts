/** Cuts bytes into lines, events and the parts of a batch. Pure. */
import { DataServiceError } from '../data-service-error.ts';

/** Most bytes of one line or event. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_PART_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;
const QUOTE = 0x22;

/** Lines out of pieces of any length, without their ends. */
export class LineReader {
  #rest: Buffer[] = [];
  #size = 0;

  /** The lines that end in this piece. @throws DataServiceError `bad_body` for a line of more than 16 MiB */
  *feed(piece: Buffer): Generator<string> {
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

  #add(bytes: Buffer): void {
    this.#size += bytes.length;
    if (this.#size > MAX_LINE_BYTES) {
      throw new DataServiceError(`a line is longer than ${MAX_LINE_BYTES} bytes (bad_body)`, {
        code: 'bad_body',
        status: 200,
        retryable: false,
      });
    }
    this.#rest.push(bytes);
  }

  #take(): string {
    const line = Buffer.concat(this.#rest, this.#size).toString();
    this.#rest = [];
    this.#size = 0;
    return line.endsWith('\r') ? line.slice(0, -1) : line;
  }
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

  /** The event that this line ends, or null. */
  line(line: string): StreamEvent | null {
    if (line === '') {
      const data = this.#data;
      this.#data = [];
      return data.length === 0 ? null : { id: this.#id, data: data.join('\n') };
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    if (name === 'id') this.#id = value;
    return null;
  }
}

/** Gathers whole lines into parts of at most 4 MiB, unless one line is longer. */
export class PartCutter {
  #lines: Buffer[] = [];
  #size = 0;

  /** Takes whole lines with their ends. Returns the part before them when they do not fit into it, else null. */
  add(lines: Buffer): Buffer | null {
    const part = this.#size > 0 && this.#size + lines.length > MAX_PART_BYTES ? this.rest() : null;
    this.#lines.push(lines);
    this.#size += lines.length;
    return part;
  }

  /** The part that has begun; empty without one. */
  rest(): Buffer {
    const part = Buffer.concat(this.#lines, this.#size);
    this.#lines = [];
    this.#size = 0;
    return part;
  }
}

/** One line of a part: an object as JSON, a text as it is. */
export function toLine(line: object | string): Buffer {
  const text = typeof line === 'string' ? line : JSON.stringify(line);
  return Buffer.from(text.endsWith('\n') ? text : `${text}\n`);
}

/** Whole lines of a file, several at a time. A line of CSV ends outside quotes. */
export async function* fileLines(blocks: AsyncIterable<Buffer>, isCsv: boolean): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0);
  for await (const block of blocks) {
    rest = Buffer.concat([rest, block]);
    const end = isCsv ? lastCsvEnd(rest) : rest.lastIndexOf(LINE_FEED);
    if (end < 0) continue;
    yield rest.subarray(0, end + 1);
    rest = rest.subarray(end + 1);
  }
  if (rest.length > 0) yield rest.at(-1) === LINE_FEED ? rest : Buffer.concat([rest, Buffer.of(LINE_FEED)]);
}

/** Where the last line ends that has an even number of quotes before its end; -1 without one. */
function lastCsvEnd(bytes: Buffer): number {
  let end = -1;
  let isQuoted = false;
  for (let i = 0; i < bytes.length; i++) {
    if (bytes[i] === QUOTE) isQuoted = !isQuoted;
    else if (bytes[i] === LINE_FEED && !isQuoted) end = i;
  }
  return end;
}
