/** Records of CSV, cut where the service's own reader cuts them. Pure. */

/** The most bytes of a record of several lines, as the service reads it. */
const MAX_RECORD_BYTES = 64 * 1024;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const QUOTE = 0x22;
const COMMA = 0x2c;

/**
 * How a line leaves its quotes:
 * - record: the record ends with the line.
 * - open: a quote is open at its end.
 * - stray: text follows a closing quote, or the file ends within quotes.
 */
type End = 'record' | 'open' | 'stray';

/**
 * Puts lines together to records (RFC 4180). A record that breaks the rules of quotes ends with its first line. Each line is looked at
 * once, because its effect within quotes depends on it alone: the time is linear.
 */
export class CsvRecords {
  #lines: Uint8Array[] = [];
  /** The index of the line that begins the next record, and how it ends; null when that is not known yet. */
  #head = 0;
  #first: End | null = null;
  /** This many lines behind it, of `#size` bytes, leave an open quote open. `#after` is what the next one does. */
  #inside = 0;
  #size = 0;
  #after: End | null = null;

  /** The records that are certain with these lines. Lines have their ends; the first line of a file has no byte order mark. */
  *push(lines: readonly Uint8Array[]): Generator<Uint8Array> {
    this.#lines.splice(0, this.#head);
    this.#head = 0;
    this.#lines.push(...lines);
    yield* this.#drain(false);
  }

  /** The records of the remaining lines. */
  *finish(): Generator<Uint8Array> {
    yield* this.#drain(true);
  }

  *#drain(isLast: boolean): Generator<Uint8Array> {
    for (let line = this.#lines[this.#head]; line !== undefined; line = this.#lines[this.#head]) {
      this.#first ??= endOf(line, false);
      const count = this.#first === 'open' ? this.#linesOf(line, isLast) : 1;
      if (count === 0) return;
      const record = count === 1 ? line : joined(this.#lines.slice(this.#head, this.#head + count));
      this.#passOver(count);
      yield record;
    }
  }

  /** The number of lines of a record whose first line leaves a quote open. 0: more lines are needed. */
  #linesOf(line: Uint8Array, isLast: boolean): number {
    while (line.length + this.#size <= MAX_RECORD_BYTES) {
      const next = this.#lines[this.#head + this.#inside + 1];
      if (next === undefined && !isLast) return 0;
      this.#after ??= next === undefined ? 'stray' : endOf(next, true);
      if (next === undefined || this.#after === 'stray') return 1;
      if (this.#after === 'record') return line.length + this.#size + contentLength(next) <= MAX_RECORD_BYTES ? this.#inside + 2 : 1;
      this.#inside++;
      this.#size += next.length;
      this.#after = null;
    }
    return 1;
  }

  #passOver(count: number): void {
    this.#head += count;
    this.#first = null;
    if (count === 1 && this.#inside > 0) {
      this.#inside--;
      this.#size -= this.#lines[this.#head]?.length ?? 0;
      return;
    }
    this.#inside = 0;
    this.#size = 0;
    this.#after = null;
  }
}

function contentLength(line: Uint8Array): number {
  const end = line.at(-1) === LINE_FEED ? line.length - 1 : line.length;
  return line[end - 1] === CARRIAGE_RETURN ? end - 1 : end;
}

/** A quote opens only at the start of a field. */
function endOf(line: Uint8Array, isQuoted: boolean): End {
  const end = contentLength(line);
  for (let at = isQuoted ? 0 : behindOpeningQuote(line, 0); ;) {
    if (at < 0) return 'record';
    const quote = line.indexOf(QUOTE, at);
    if (quote < 0 || quote >= end) return 'open';
    if (quote + 1 === end) return 'record';
    const following = line[quote + 1];
    if (following === QUOTE) at = quote + 2;
    else if (following === COMMA) at = behindOpeningQuote(line, quote + 2);
    else return 'stray';
  }
}

/** The index behind the next quote that opens a field; -1 without one. @param start of a field */
function behindOpeningQuote(line: Uint8Array, start: number): number {
  let quote = line.indexOf(QUOTE, start);
  while (quote > start && line[quote - 1] !== COMMA) quote = line.indexOf(QUOTE, quote + 1);
  return quote + 1 || -1;
}

/** The bytes of all pieces. One piece is not copied. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces;
  if (first !== undefined && pieces.length === 1) return first;
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
