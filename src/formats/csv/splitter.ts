/**
 * Finds the ends of records (CSV framing, RFC 4180), with exact offsets. The pipeline reads files leniently with it, and batch jobs read
 * their parts strictly. A quote opens only at the start of a field.
 * The end of a record depends only on its bytes, never on chunks, so reading can resume at every record's end. Native searches find lines
 * without a quote. Other records are scanned byte by byte, and the scan continues when more bytes arrive.
 * Quotes that never close cost time that is linear in the file's length: see `#passedTo`.
 */
import { CR, HeldLines, LF, NONE, QUOTE } from './line-buffer.ts';
import { MAX_QUOTED_BYTES, MAX_RECORD_BYTES } from '../limits.ts';
import type { RecordKind, SplitterOptions } from './record-kind.ts';

const SPACE = 32;
const TAB = 9;

/**
 * States of the scan:
 * - idle: between records.
 * - field: at the start of a field.
 * - bare: in a field without enclosing quotes.
 * - quoted: between quotes.
 * - quote: after a quote that closes a field, or is the first of two.
 * - after: after spaces that follow a closing quote.
 * - tail: in a line that is one record regardless of its quotes.
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

  // State of the scan of a record that is not plain, or not complete yet.
  #state: State = 'idle';
  #at = 0;
  #sawQuote = false;
  #dirty = false;
  /** The number of line ends within the record so far, and the index of the first. */
  #eols = 0;
  #firstEol = NONE;
  /** The index of the open quote, the first line end after it, and the number of line ends before it. */
  #opener = NONE;
  #openerEol = NONE;
  #openerEols = 0;
  /** Dropped bytes of this overlong record; its beginning is in `#head`. */
  #dropped = 0;
  #overlong = false;
  #head: Buffer | null = null;
  /**
   * A failed scan passed every line end up to this index within quotes. A later scan that meets one of them within quotes has the same
   * quote open, so it continues here. Without this, lines that lead to the same open quote would each follow it: quadratic time.
   */
  #passedTo = 0;
  /** The state at that index, and its physical line. Null when the quotes are out of order there, so that every such scan fails. */
  #passed: { readonly state: State; readonly line: number } | null = null;

  constructor(options: SplitterOptions) {
    super(options);
    this.#delimiter = options.delimiter ?? NONE;
    this.#maxQuoted = options.limits?.quoted ?? MAX_QUOTED_BYTES;
    this.#maxRecord = options.limits?.record ?? MAX_RECORD_BYTES;
    this.line = options.line;
  }

  /** Finds the next complete record. False when more bytes are needed, or none are left after `finish()`. */
  next(): boolean {
    if (this.#state === 'idle') {
      if (!this.skipBlankLines()) return false;
      const plain = this.plainEnd(this.#maxRecord);
      if (plain !== NONE && !this.longBlank) return this.#deliver('plain', plain, this.afterEol(plain), 1);
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
    // Text follows leading spaces that were dropped.
    this.#overlong = this.longBlank;
    if (this.longBlank) this.#state = 'tail';
    this.longBlank = false;
    this.#head = null;
  }

  /** Scans the record until its end, or until the bytes run out. */
  #walk(): boolean {
    const buffer = this.bytes;
    const length = this.length;
    const delimiter = this.#delimiter;
    const { quoting, crEnds } = this;
    let longAt = this.#overlong ? NONE : this.pos + this.#maxRecord - this.#dropped;
    let i = this.#at;
    while (i < length) {
      if (i >= longAt && longAt !== NONE && this.#isTooLong(i, longAt)) {
        if (this.strict && this.#firstEol !== NONE) return this.#failAt(i, { state: this.#state, line: this.nextLine + this.#eols });
        this.#overlong = true;
        if (this.strict) this.#state = 'tail';
        longAt = NONE;
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
        } else if (byte === LF || (byte === CR && crEnds)) {
          if (i < this.#passedTo && !this.#overlong) {
            if (this.#firstEol === NONE) this.#firstEol = i;
            if (this.#passed === null) return this.#deliverFirstLine();
            this.#state = this.#passed.state;
            this.#eols = this.#passed.line - this.nextLine;
            i = this.#passedTo;
            continue;
          }
          this.#noteEol(byte, i);
        }
        i += 1;
        continue;
      }
      if (byte === LF || (byte === CR && crEnds)) {
        if (!this.eolIsWhole(i)) break;
        const isText = byte === CR && !this.#sawQuote && !this.#overlong ? this.isText(i) : false;
        if (isText === null) break;
        if (isText) {
          i += 1;
          continue;
        }
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
        if (byte === CR && !crEnds && !this.#isKnown(i + 1)) break;
        if ((byte !== CR || !this.#mayEndLine(i)) && !this.#strayAfterQuote(byte, i)) return true;
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

  #isKnown(at: number): boolean {
    return this.final || at < this.length;
  }

  /** Whether a line end begins at `i`, by the bytes so far. Where a lone CR is data, a CR counts only before an LF or the source's end. */
  #mayEndLine(i: number): boolean {
    const byte = this.bytes[i];
    return byte === LF || (byte === CR && (this.crEnds || i + 1 >= this.length || this.bytes[i + 1] === LF));
  }

  /**
   * Whether the record continues behind `longAt`, with the scan at `i`, which is there or further. A record that ends exactly at `longAt`
   * still fits.
   */
  #isTooLong(i: number, longAt: number): boolean {
    const isAtEnd = i === longAt ? this.#mayEndLine(i) : this.bytes[i] === LF && this.contentEnd(this.pos, i) === longAt;
    if (!isAtEnd || this.#state !== 'quoted') return !isAtEnd;
    // Only the line ends here. Strictly, that line alone is the record.
    if (this.strict && this.bytes[i] === CR) return false;
    if (this.strict && this.#firstEol === NONE) this.#firstEol = i;
    return true;
  }

  /**
   * Handles text after a closing quote. Leniently, spaces are ignored, and other text after quotes within one line is tolerated. After
   * quotes across lines, the supposed closing quote opens another field, so those lines are separate records. Returns false when a record
   * was delivered.
   */
  #strayAfterQuote(byte: number, i: number): boolean {
    this.#dirty = true;
    if (!this.strict && (byte === SPACE || byte === TAB)) {
      this.#state = 'after';
      return true;
    }
    this.#state = 'bare';
    return (!this.strict && this.#openerEol === NONE) || !this.#giveUp(i);
  }

  /** Handles a line end within quotes. */
  #noteEol(byte: number, i: number): void {
    if (this.crEnds && byte === LF && this.bytes[i - 1] === CR) return;
    this.#eols += 1;
    if (this.#firstEol === NONE) this.#firstEol = i;
    if (this.#openerEol === NONE) {
      this.#openerEol = i;
      this.#openerEols = this.#eols;
    }
  }

  /**
   * The quotes are out of order at `i`, or still open there. Returns true when a record was delivered; false when the end of its line is
   * not found yet.
   */
  #giveUp(i: number): boolean {
    if (this.#overlong) {
      if (this.#openerEol !== NONE) {
        return this.#deliver('overlong', this.#openerEol, this.afterEol(this.#openerEol), this.#openerEols);
      }
    } else if (this.#firstEol !== NONE) {
      return this.#failAt(i, null);
    }
    this.#state = 'tail';
    if (i < this.length || !this.final) return false;
    return this.#deliverWalked(this.length, this.length);
  }

  /** Ends the record with its first line, and remembers what later scans can skip. */
  #failAt(i: number, passed: { readonly state: State; readonly line: number } | null): boolean {
    this.#passedTo = i;
    this.#passed = passed;
    return this.#deliverFirstLine();
  }

  #deliverFirstLine(): boolean {
    return this.#deliver('unclosed', this.#firstEol, this.afterEol(this.#firstEol), 1);
  }

  #deliverWalked(end: number, after: number): boolean {
    const kind = this.#overlong
      ? 'overlong'
      : this.#state === 'tail'
        ? 'unclosed'
        : this.#dirty
          ? 'dirty'
          : this.#sawQuote
            ? 'quoted'
            : 'plain';
    return this.#deliver(kind, end, after, this.#eols + (after > end ? 1 : 0));
  }

  #deliver(kind: RecordKind, end: number, after: number, lines: number): boolean {
    this.#state = 'idle';
    this.kind = kind;
    this.line = this.nextLine;
    this.start = this.pos;
    this.end = this.crEnds ? end : this.contentEnd(this.pos, end);
    this.consume(after, lines);
    return true;
  }

  /** The first bytes of the overlong record that `next()` found: at most the record limit, or its one line if that is shorter. */
  get head(): Buffer {
    const length = Math.min(this.#maxRecord, this.#dropped + this.end - this.start);
    return this.#head?.subarray(0, length) ?? this.bytes.subarray(this.start, this.start + length);
  }

  /** Drops bytes of an overlong record, except the place where it may end. */
  protected letGo(): void {
    if (this.#state === 'idle') this.dropBlanks(this.#maxRecord);
    if (!this.#overlong || this.#state === 'idle') return;
    this.#head ??= Buffer.from(this.bytes.subarray(this.pos, Math.min(this.length, this.pos + this.#maxRecord)));
    const inQuotes = this.#state === 'quoted' || this.#state === 'quote' || this.#state === 'after';
    // One more byte than scanned stays: a CR there may belong to a following LF.
    const keepFrom = Math.max(this.pos, inQuotes && this.#openerEol !== NONE ? this.#openerEol : this.#at - 1);
    this.#dropped += keepFrom - this.pos;
    this.consume(keepFrom, 0);
  }

  protected shift(by: number): void {
    this.#at -= by;
    this.#opener -= by;
    this.#passedTo = Math.max(0, this.#passedTo - by);
    if (this.#firstEol !== NONE) this.#firstEol -= by;
    if (this.#openerEol !== NONE) this.#openerEol -= by;
  }
}
