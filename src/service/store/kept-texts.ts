/** The texts of many records as the bytes in which they are kept: they are handed from thread to thread without being copied, and written without a text being made of them. Pure. */

/** Where a text stands among the others; in bytes. */
export interface TextSpan {
  readonly textFrom: number;
  readonly textTo: number;
}

/** UTF-8, one text behind the other. */
export type Texts = Uint8Array<ArrayBuffer>;

/** A value of a statement that is a text, or its bytes. */
export const AS_TEXT = 'CAST(? AS TEXT)';

/** What one unit of UTF-16 takes in UTF-8 at the most. */
const MAX_BYTES_A_UNIT = 3;
/** Room that is kept for the texts to come; more was for a batch that was larger than others. Bytes. */
const ROOM = 4 * 1024 * 1024;

/** Collects records' texts for a batch. */
export class TextCollector {
  #bytes = Buffer.allocUnsafeSlow(64 * 1024);
  #count = 0;

  /** @param text well formed, as JSON is that was written by `JSON.stringify` */
  add(text: string): TextSpan {
    const needed = this.#count + text.length * MAX_BYTES_A_UNIT;
    if (needed > this.#bytes.length) this.#grow(Math.max(needed, 2 * this.#bytes.length));
    const textFrom = this.#count;
    this.#count += this.#bytes.write(text, textFrom);
    return { textFrom, textTo: this.#count };
  }

  /** The texts that were added since the last time. */
  take(): Texts {
    const texts = new Uint8Array(this.#count);
    texts.set(this.#bytes.subarray(0, this.#count));
    this.#count = 0;
    if (this.#bytes.length > ROOM) this.#bytes = Buffer.allocUnsafeSlow(ROOM);
    return texts;
  }

  #grow(length: number): void {
    const more = Buffer.allocUnsafeSlow(length);
    this.#bytes.copy(more, 0, 0, this.#count);
    this.#bytes = more;
  }
}

/** The bytes of one of the texts. */
export function bytesIn(texts: Texts, { textFrom, textTo }: TextSpan): Texts {
  return texts.subarray(textFrom, textTo);
}

/** One of the texts. */
export function textIn(texts: Texts, { textFrom, textTo }: TextSpan): string {
  return Buffer.from(texts.buffer, texts.byteOffset + textFrom, textTo - textFrom).toString();
}
