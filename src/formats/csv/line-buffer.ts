/** Buffers the bytes of a source and finds line ends in them (LF, CRLF, lone CR). A subclass decides where records end. */
import type { SplitterOptions } from './record-kind.ts';

export const LF = 10;
export const CR = 13;
export const QUOTE = 34;
export const NONE = -1;
/** A longer line ends at a CR, so that a file is read in linear time. */
const LONGEST_WITH_CR = 65_536;
const SPACE = 32;
const TAB = 9;

export abstract class HeldLines {
  /** The start of the next record: source offset and physical line. */
  nextOffset: number;
  nextLine: number;

  protected readonly quoting: boolean;
  protected readonly strict: boolean;
  /** Whether a CR without a following LF ends a line. */
  protected readonly crEnds: boolean;
  protected bytes: Buffer = Buffer.allocUnsafe(0);
  protected length = 0;
  /** Everything before this index was delivered. `nextOffset` is its offset in the source. */
  protected pos = 0;
  protected final = false;
  /**
   * Strict only: a line began with more spaces and tabs than a record may have. They were dropped, and the end of their line is not found
   * yet.
   */
  protected longBlank = false;
  /** Strict only: `pos` to this index are spaces and tabs, and the next byte is not read yet. */
  #blankTo = NONE;

  readonly #measure: SplitterOptions['measure'];
  readonly #delimiter: number;
  readonly #columns: number;
  readonly #lf = new ByteFinder(LF);
  readonly #cr = new ByteFinder(CR);
  readonly #quote = new ByteFinder(QUOTE);

  constructor({ delimiter, strict = false, columns = 0, measure, offset, line }: SplitterOptions) {
    this.quoting = delimiter !== null;
    this.strict = strict;
    this.crEnds = this.quoting && !strict;
    this.#delimiter = delimiter ?? NONE;
    this.#columns = columns;
    this.#measure = measure;
    this.nextOffset = offset;
    this.nextLine = line;
  }

  /** Drops buffered bytes that are no longer needed. */
  protected abstract letGo(): void;

  /** Subtracts `by` from every index that the subclass holds. */
  protected abstract shift(by: number): void;

  /** The bytes to which a record's indexes refer, valid until the next `push`. */
  get buffer(): Buffer {
    return this.bytes;
  }

  /** All buffered bytes, for checks that are cheaper on all at once than per record. */
  get held(): Buffer {
    return this.bytes.subarray(this.pos, this.length);
  }

  /** Adds bytes; they are copied. */
  push(bytes: Buffer): void {
    this.letGo();
    this.#makeRoom(bytes.length);
    for (const finder of [this.#lf, this.#cr, this.#quote]) finder.forget();
    bytes.copy(this.bytes, this.length);
    this.length += bytes.length;
  }

  /** Skips a byte order mark at the start. */
  skip(count: number): void {
    this.consume(this.pos + count, 0);
  }

  /** Ends the input: the buffered bytes are the last record. */
  finish(): void {
    this.final = true;
  }

  /** Skips blank lines between records. Returns false when the bytes end here. */
  protected skipBlankLines(): boolean {
    if (this.strict) return this.#skipLinesOfSpaces();
    for (;;) {
      if (this.pos >= this.length) return false;
      const byte = this.bytes[this.pos];
      if (byte !== LF && (byte !== CR || !this.crEnds)) return true;
      if (!this.eolIsWhole(this.pos)) return false;
      this.consume(this.afterEol(this.pos), 1);
    }
  }

  /** Scans bytes, not lines: there may be millions of blank lines, and the thread also serves requests. */
  #skipLinesOfSpaces(): boolean {
    this.#blankTo = NONE;
    for (let at = this.pos; at < this.length; at++) {
      const byte = this.bytes[at];
      if (byte === SPACE || byte === TAB) continue;
      const eol = byte === CR && at + 1 < this.length ? at + 1 : at;
      if (byte === CR && eol === at) return this.#skipToEnd(at);
      if (this.bytes[eol] !== LF) return true;
      this.consume(eol + 1, 1);
      this.longBlank = false;
      at = eol;
    }
    return this.#skipToEnd(this.length);
  }

  #skipToEnd(blankTo: number): boolean {
    if (this.final) this.consume(this.length, 0);
    else this.#blankTo = blankTo;
    return false;
  }

  /** Drops leading spaces and tabs that are longer than a record may be. */
  protected dropBlanks(max: number): void {
    if (this.#blankTo - this.pos > max) {
      this.longBlank = true;
      this.consume(this.#blankTo, 0);
    }
    this.#blankTo = NONE;
  }

  /** The LF or CR that ends the line at `pos`, if that line is complete, has no quote and at most `max` bytes; else NONE. */
  protected plainEnd(max: number): number {
    const from = this.pos;
    let eol = this.#lf.next(this.bytes, this.length, from);
    if (this.quoting) {
      if (this.crEnds) {
        const cr = this.#cr.next(this.bytes, this.length, from);
        const isText = cr < eol ? this.isText(cr) : false;
        if (isText === null) return NONE;
        // The CR of a CRLF ends the line.
        if (isText) eol = this.bytes[eol - 1] === CR ? eol - 1 : eol;
        else eol = Math.min(eol, cr);
      }
      if (this.#quote.next(this.bytes, this.length, from) < eol) return NONE;
    }
    if (eol === Infinity || (eol - from > max && this.contentEnd(from, eol) - from > max)) return NONE;
    return this.eolIsWhole(eol) ? eol : NONE;
  }

  /**
   * Whether the CR at `cr`, outside of quotes, is text of the record at `pos`: see `SplitterOptions.columns`. Null when more bytes decide.
   */
  protected isText(cr: number): boolean | null {
    const { bytes, length, pos } = this;
    if (this.#columns < 2) return false;
    if (cr + 1 >= length) return this.final ? false : null;
    if (bytes[cr + 1] === LF) return false;
    const lf = this.#lf.next(bytes, length, pos);
    const end = Math.min(lf, length);
    if (end - pos > LONGEST_WITH_CR) return false;
    if (lf === Infinity && !this.final) return null;
    if (this.#quote.next(bytes, length, pos) < end) return false;
    let fields = 1;
    for (let at = pos; at < end; at++) if (bytes[at] === this.#delimiter) fields++;
    return fields === this.#columns;
  }

  /** The end of a line's content. Where a lone CR is data, a CR before the LF belongs to the line end. */
  protected contentEnd(from: number, eol: number): number {
    return !this.crEnds && eol > from && this.bytes[eol - 1] === CR ? eol - 1 : eol;
  }

  protected consume(to: number, lines: number): void {
    this.nextOffset += this.#measure(this.bytes, this.pos, to);
    this.nextLine += lines;
    this.pos = to;
  }

  /** Whether the CR is the last byte so far: it may be half of a CRLF. */
  protected eolIsWhole(at: number): boolean {
    return this.final || at + 1 < this.length || this.bytes[at] === LF;
  }

  protected afterEol(at: number): number {
    return this.bytes[at] === CR && at + 1 < this.length && this.bytes[at + 1] === LF ? at + 2 : at + 1;
  }

  #makeRoom(count: number): void {
    const keep = this.length - this.pos;
    if (this.pos === 0 && this.length + count <= this.bytes.length) return;
    const target = keep + count > this.bytes.length ? Buffer.allocUnsafeSlow(Math.max(keep + count, keep * 2)) : this.bytes;
    this.bytes.copy(target, 0, this.pos, this.length);
    this.bytes = target;
    this.shift(this.pos);
    this.length = keep;
    this.pos = 0;
  }
}

/** The next index of one byte value, cached until it is passed. A rare byte costs one native search per buffer. */
class ByteFinder {
  readonly #byte: number;
  /** The last index found, valid for every `from` up to it. Infinity: not in the buffer; -1: unknown. */
  #found = -1;

  constructor(byte: number) {
    this.#byte = byte;
  }

  /** The first index at or after `from` and below `length`, else Infinity. `from` does not decrease between two calls of `forget`. */
  next(buffer: Buffer, length: number, from: number): number {
    if (this.#found >= from) return this.#found;
    const found = buffer.indexOf(this.#byte, from);
    this.#found = found === -1 || found >= length ? Infinity : found;
    return this.#found;
  }

  /** Clears the cache. Must be called when the buffer changed. */
  forget(): void {
    this.#found = -1;
  }
}
