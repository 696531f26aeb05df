/**
 * Cuts bytes into records, quote-aware, with exact offsets (RFC 4180; line ends LF, CRLF and lone CR; a quote opens only where a field begins).
 *
 * Where a record ends depends only on the bytes from its beginning on, never on how they were cut into chunks: that is what makes
 * every record's end a place where reading can start. A line without a quote is found by two native searches; only records with a
 * quote, and the piece of a line at the end of a chunk, are walked byte by byte, and that walk goes on where it stopped when more bytes come.
 *
 * Quotes that never close cost no more than the file's own length: see `#doomedUntil`.
 */
import { CR, HeldLines, LF, NONE, QUOTE } from './held-lines.ts';
import { MAX_QUOTED_BYTES, MAX_RECORD_BYTES } from './limits.ts';
import type { RecordKind, SplitterOptions } from './record-kind.ts';

const SPACE = 32;
const TAB = 9;

/**
 * field: where a field begins. bare: in a field without quotes around it. quoted: between quotes. quote: after a quote that closes, or is the
 * first of two. after: after spaces that follow a closing quote. tail: in a line that is given up.
 */
type State = 'idle' | 'field' | 'bare' | 'quoted' | 'quote' | 'after' | 'tail';

export class Splitter extends HeldLines {
  /** The record that `next()` found: its content in `buffer`, without the line end. */
  start = 0;
  end = 0;
  kind: RecordKind = 'plain';
  /** Its first physical line, from 1. */
  line: number;

  readonly #delimiter: number;
  readonly #maxQuoted: number;
  readonly #maxRecord: number;

  // The walk through a record that is not plain, or not whole yet.
  #state: State = 'idle';
  #at = 0;
  #sawQuote = false;
  #dirty = false;
  /** Line ends within the record so far, and where the first one stands. */
  #eols = 0;
  #firstEol = NONE;
  /** The quote that is open, the first line end after it, and how many line ends the record had then. */
  #opener = NONE;
  #openerEol = NONE;
  #openerEols = 0;
  /** Bytes of this record that were let go because it is too long; what fits is in `#head`. */
  #dropped = 0;
  #overlong = false;
  #head: Buffer | null = null;
  /**
   * A walk that found an unclosed quote passed every line end up to here inside quotes. A later walk that meets one of them inside quotes
   * is in the same state and will end the same way, so it can stop at once. Without this, lines that each lead to the same open quote would
   * each be followed to it: quadratic.
   */
  #doomedUntil = 0;

  constructor(options: SplitterOptions) {
    super(options);
    this.#delimiter = options.delimiter ?? NONE;
    this.#maxQuoted = options.limits?.quoted ?? MAX_QUOTED_BYTES;
    this.#maxRecord = options.limits?.record ?? MAX_RECORD_BYTES;
    this.line = options.line;
  }

  /** The next whole record, or false: more bytes are needed, or after `finish()` there are none. */
  next(): boolean {
    if (this.#state === 'idle') {
      if (!this.skipBlankLines()) return false;
      const plain = this.plainEnd(this.#maxRecord);
      if (plain !== NONE) return this.#deliver('plain', this.pos, plain, this.afterEol(plain), 1);
      this.#begin();
    }
    return this.#walk();
  }

  #begin(): void {
    this.#state = 'field';
    this.#at = this.pos;
    this.#sawQuote = false;
    this.#dirty = false;
    this.#eols = 0;
    this.#firstEol = NONE;
    this.#opener = NONE;
    this.#openerEol = NONE;
    this.#dropped = 0;
    this.#overlong = false;
    this.#head = null;
  }

  /** Follow the record until its end, or until the bytes run out. */
  #walk(): boolean {
    const buffer = this.bytes;
    const length = this.length;
    const delimiter = this.#delimiter;
    const quoting = this.quoting;
    let longAt = this.#overlong ? NONE : this.pos + this.#maxRecord - this.#dropped;
    let i = this.#at;
    while (i < length) {
      if (i >= longAt && longAt !== NONE) {
        const byte = buffer[i];
        // Exactly at the bound and at its end: it still fits.
        if (i > longAt || this.#state === 'quoted' || !(byte === LF || (quoting && byte === CR))) {
          this.#overlong = true;
          longAt = NONE;
        }
      }
      const byte = buffer[i] ?? 0;
      if (this.#state === 'quoted') {
        if (i - this.#opener > this.#maxQuoted) {
          this.#at = i;
          if (this.#giveUp(i)) return true;
          continue;
        }
        if (byte === QUOTE) {
          this.#state = 'quote';
        } else if (byte === LF || byte === CR) {
          if (i < this.#doomedUntil && !this.#overlong) {
            if (this.#firstEol === NONE) this.#firstEol = i;
            return this.#deliverFirstLine();
          }
          this.#noteEol(byte, i);
        }
        i += 1;
        continue;
      }
      if (byte === LF || (byte === CR && quoting)) {
        if (!this.eolIsWhole(i)) break;
        return this.#deliverWalked(i, this.afterEol(i));
      }
      if (this.#state === 'tail') {
        i += 1;
        continue;
      }
      if (byte === delimiter) {
        this.#state = 'field';
      } else if (byte === QUOTE && quoting) {
        this.#sawQuote = true;
        if (this.#state === 'field') {
          this.#opener = i;
          this.#openerEol = NONE;
          this.#state = 'quoted';
        } else if (this.#state === 'quote') {
          this.#state = 'quoted';
        } else if (this.#state === 'after') {
          if (!this.#strayAfterQuote(byte, i)) return true;
        } else {
          this.#dirty = true;
        }
      } else if (this.#state === 'quote' || this.#state === 'after') {
        if (!this.#strayAfterQuote(byte, i)) return true;
      } else {
        this.#state = 'bare';
      }
      i += 1;
    }
    this.#at = i;
    if (!this.final) return false;
    if (this.#state === 'quoted') return this.#giveUp(length);
    return this.#deliverWalked(length, length);
  }

  /**
   * Something other than a delimiter or a line end follows a closing quote. Spaces do no harm. Anything else after quotes within one line is a
   * careless writer's text; after quotes across lines it is the next field's opening quote, taken for the close of one that was never closed:
   * those lines are records of their own. False: a record was delivered.
   */
  #strayAfterQuote(byte: number, i: number): boolean {
    this.#dirty = true;
    if (byte === SPACE || byte === TAB) {
      this.#state = 'after';
      return true;
    }
    this.#state = 'bare';
    return this.#openerEol === NONE || !this.#giveUp(i);
  }

  /** A line end inside quotes. */
  #noteEol(byte: number, i: number): void {
    if (byte === LF && this.bytes[i - 1] === CR) return;
    this.#eols += 1;
    if (this.#firstEol === NONE) this.#firstEol = i;
    if (this.#openerEol === NONE) {
      this.#openerEol = i;
      this.#openerEols = this.#eols;
    }
  }

  /** The open quote does not close before `i`. True: a record was delivered; false: its line's end is still to be found. */
  #giveUp(i: number): boolean {
    if (this.#overlong) {
      if (this.#openerEol !== NONE) {
        return this.#deliver('overlong', this.pos, this.#openerEol, this.afterEol(this.#openerEol), this.#openerEols);
      }
    } else if (this.#firstEol !== NONE) {
      this.#doomedUntil = Math.max(this.#doomedUntil, i);
      return this.#deliverFirstLine();
    }
    this.#state = 'tail';
    if (i < this.length || !this.final) return false;
    return this.#deliverWalked(this.length, this.length);
  }

  #deliverFirstLine(): boolean {
    return this.#deliver('unclosed', this.pos, this.#firstEol, this.afterEol(this.#firstEol), 1);
  }

  #deliverWalked(end: number, after: number): boolean {
    const kind = this.#overlong ? 'overlong' : this.#state === 'tail' ? 'unclosed' : this.#dirty ? 'dirty' : this.#sawQuote ? 'quoted' : 'plain';
    return this.#deliver(kind, this.pos, end, after, this.#eols + (after > end ? 1 : 0));
  }

  #deliver(kind: RecordKind, start: number, end: number, after: number, lines: number): boolean {
    this.#state = 'idle';
    this.kind = kind;
    this.line = this.nextLine;
    this.start = start;
    this.end = end;
    this.consume(after, lines);
    return true;
  }

  /** The first bytes of the overlong record that `next()` found: as many as a record may have, or its one line where that is shorter. */
  get head(): Buffer {
    const length = Math.min(this.#maxRecord, this.#dropped + this.end - this.start);
    return this.#head?.subarray(0, length) ?? this.bytes.subarray(this.start, this.start + length);
  }

  /** Drops what is no longer needed of a record that is too long: all but the place where it may turn out to end. */
  protected letGo(): void {
    if (!this.#overlong || this.#state === 'idle') return;
    this.#head ??= Buffer.from(this.bytes.subarray(this.pos, Math.min(this.length, this.pos + this.#maxRecord)));
    const inQuotes = this.#state === 'quoted' || this.#state === 'quote' || this.#state === 'after';
    // One byte more than was walked stays: a CR there may belong to the LF that follows.
    const keepFrom = Math.max(this.pos, inQuotes && this.#openerEol !== NONE ? this.#openerEol : this.#at - 1);
    this.#dropped += keepFrom - this.pos;
    this.consume(keepFrom, 0);
  }

  /** All places move down by `by`. */
  protected shift(by: number): void {
    this.#at -= by;
    this.#opener -= by;
    this.#doomedUntil = Math.max(0, this.#doomedUntil - by);
    if (this.#firstEol !== NONE) this.#firstEol -= by;
    if (this.#openerEol !== NONE) this.#openerEol -= by;
  }
}
