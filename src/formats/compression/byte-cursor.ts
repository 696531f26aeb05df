/** Reads a stream of buffers on demand: look at bytes, take some, leave the rest to the next reader. */
export class ByteCursor {
  readonly #source: AsyncIterator<Buffer, void, void>;
  #held: Buffer = Buffer.alloc(0);
  #ended = false;
  #at: number;

  /** @param at the source's offset in the file, bytes */
  constructor(source: AsyncIterator<Buffer, void, void>, at: number) {
    this.#source = source;
    this.#at = at;
  }

  /** The offset of the next byte in the file. */
  get at(): number {
    return this.#at;
  }

  /** Returns at least `count` bytes, unless the source ends first. They are not taken. */
  async peek(count: number): Promise<Buffer> {
    if (this.#held.length < count) {
      const parts = [this.#held];
      let have = this.#held.length;
      while (have < count && !this.#ended) {
        const part = await this.#pull();
        if (part === null) break;
        parts.push(part);
        have += part.length;
      }
      this.#held = parts.length === 1 ? this.#held : Buffer.concat(parts);
    }
    return this.#held;
  }

  /** Returns the buffered bytes, at least one; null at the end. They are not taken. */
  async some(): Promise<Buffer | null> {
    if (this.#held.length === 0) this.#held = (await this.#pull()) ?? this.#held;
    return this.#held.length === 0 ? null : this.#held;
  }

  /** Takes `count` of the bytes that were returned last. */
  take(count: number): void {
    if (count > this.#held.length) throw new RangeError(`ByteCursor: take(${count}) of ${this.#held.length} bytes`);
    this.#held = this.#held.subarray(count);
    this.#at += count;
  }

  async #pull(): Promise<Buffer | null> {
    if (this.#ended) return null;
    const { done, value } = await this.#source.next();
    if (done === true) {
      this.#ended = true;
      return null;
    }
    return value;
  }
}
