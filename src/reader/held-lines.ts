/** What is held of a source, and where lines end in it (LF, CRLF and lone CR). What a record is, is its heir's matter. */
import { ByteFinder } from './byte-finder.ts';
import type { SplitterOptions } from './record-kind.ts';

export const LF = 10;
export const CR = 13;
export const QUOTE = 34;
export const NONE = -1;

export abstract class HeldLines {
  /** Where the next record begins, or would: source offset and physical line. */
  nextOffset: number;
  nextLine: number;

  protected readonly quoting: boolean;
  protected bytes: Buffer = Buffer.allocUnsafe(0);
  protected length = 0;
  /** Up to here everything was handed out; `nextOffset` is this place in the source. */
  protected pos = 0;
  protected final = false;

  readonly #measure: SplitterOptions['measure'];
  readonly #lf = new ByteFinder(LF);
  readonly #cr = new ByteFinder(CR);
  readonly #quote = new ByteFinder(QUOTE);

  constructor({ delimiter, measure, offset, line }: SplitterOptions) {
    this.quoting = delimiter !== null;
    this.#measure = measure;
    this.nextOffset = offset;
    this.nextLine = line;
  }

  /** Of what is held, lets go of what no one needs. */
  protected abstract letGo(): void;

  /** All places move down by `by`. */
  protected abstract shift(by: number): void;

  /** The bytes that a record's places point into, valid until the next `push`. */
  get buffer(): Buffer {
    return this.bytes;
  }

  /** All that is held, for checks that are cheaper at once than record by record. */
  get held(): Buffer {
    return this.bytes.subarray(this.pos, this.length);
  }

  /** More bytes; they are copied. */
  push(bytes: Buffer): void {
    this.letGo();
    this.#makeRoom(bytes.length);
    for (const finder of [this.#lf, this.#cr, this.#quote]) finder.forget();
    bytes.copy(this.bytes, this.length);
    this.length += bytes.length;
  }

  /** No more bytes will come: what is held is the last record. */
  finish(): void {
    this.final = true;
  }

  /** Blank lines between records are lines, not records. False: nothing else is here yet. */
  protected skipBlankLines(): boolean {
    for (;;) {
      if (this.pos >= this.length) return false;
      const byte = this.bytes[this.pos];
      if (byte !== LF && (byte !== CR || !this.quoting)) return true;
      if (!this.eolIsWhole(this.pos)) return false;
      this.consume(this.afterEol(this.pos), 1);
    }
  }

  /** Where the line at `pos` ends, when it is whole, without a quote and of `max` bytes at most; else NONE. */
  protected plainEnd(max: number): number {
    const from = this.pos;
    let eol = this.#lf.next(this.bytes, this.length, from);
    if (this.quoting) {
      eol = Math.min(eol, this.#cr.next(this.bytes, this.length, from));
      if (this.#quote.next(this.bytes, this.length, from) < eol) return NONE;
    }
    return eol === Infinity || eol - from > max || !this.eolIsWhole(eol) ? NONE : eol;
  }

  protected consume(to: number, lines: number): void {
    this.nextOffset += this.#measure(this.bytes, this.pos, to);
    this.nextLine += lines;
    this.pos = to;
  }

  /** A CR that is the last byte so far may be half of a CRLF. */
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
