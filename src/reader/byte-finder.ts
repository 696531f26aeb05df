/** The next place of one byte, searched for natively and remembered until it is passed: a byte that is rare costs one search a buffer. */
export class ByteFinder {
  readonly #byte: number;
  /** The last place found: the next at or after any place up to it. Infinity: none in the buffer; -1: not known. */
  #found = -1;

  constructor(byte: number) {
    this.#byte = byte;
  }

  /** The first place at or after `from` and below `length`, else Infinity. `from` does not go back between two calls of `forget`. */
  next(buffer: Buffer, length: number, from: number): number {
    if (this.#found >= from) return this.#found;
    const found = buffer.indexOf(this.#byte, from);
    this.#found = found === -1 || found >= length ? Infinity : found;
    return this.#found;
  }

  /** The buffer is another, or has more in it. */
  forget(): void {
    this.#found = -1;
  }
}
