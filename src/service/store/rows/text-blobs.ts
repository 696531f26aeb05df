/** The texts of a batch as one block of UTF-8: it passes between threads without a copy, and SQLite takes slices of it. Pure. */

/** The byte range of a text. */
export interface TextSpan {
  readonly textFrom: number;
  readonly textTo: number;
}

/** UTF-8, one text after another. */
export type Texts = Uint8Array<ArrayBuffer>;

/** A parameter that is a text, or its bytes. */
export const AS_TEXT = 'CAST(? AS TEXT)';

/** Bytes of UTF-8 for one unit of UTF-16, at most. */
const MAX_BYTES_A_UNIT = 3;
/** Bytes of buffer that stay allocated between batches. */
const ROOM = 4 * 1024 * 1024;

/** Collects the texts of a batch. */
export class TextCollector {
  #bytes = Buffer.allocUnsafeSlow(64 * 1024);
  #count = 0;

  /** @param text well-formed, as `JSON.stringify` writes it */
  add(text: string): TextSpan {
    const needed = this.#count + text.length * MAX_BYTES_A_UNIT;
    if (needed > this.#bytes.length) this.#grow(Math.max(needed, 2 * this.#bytes.length));
    const textFrom = this.#count;
    this.#count += this.#bytes.write(text, textFrom);
    return { textFrom, textTo: this.#count };
  }

  /** The texts added since the last call. */
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

/** The bytes of one text. */
export function bytesIn(texts: Texts, { textFrom, textTo }: TextSpan): Texts {
  return texts.subarray(textFrom, textTo);
}

/** One text. */
export function textIn(texts: Texts, { textFrom, textTo }: TextSpan): string {
  return Buffer.from(texts.buffer, texts.byteOffset + textFrom, textTo - textFrom).toString();
}
