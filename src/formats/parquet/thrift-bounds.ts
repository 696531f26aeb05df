/**
 * Checks the bounds of a Thrift struct (compact protocol) before the library reads it. The library allocates lists of the stated length,
 * and reads numbers of any length, so a few hostile bytes would take all memory or hours. Pure.
 */
import { MAX_SCHEMA_DEPTH } from '../limits.ts';

const BYTE = 3;
const [I16, I32, I64, DOUBLE, BINARY, LIST, SET, STRUCT] = [4, 5, 6, 7, 8, 9, 10, 12];
/** A number of 64 bits takes at most ten bytes of seven bits. */
const MAX_VARINT_BYTES = 10;
/** Structs within structs. Those of Parquet are nested five deep. */
const MAX_DEPTH = MAX_SCHEMA_DEPTH;

/** The offset after the struct that begins at `offset`. @throws RangeError when it does not end within the bytes, or is no struct */
export function structEnd(bytes: Uint8Array, offset: number): number {
  return new Walk(bytes, offset).struct(0);
}

class Walk {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, offset: number) {
    this.#bytes = bytes;
    this.#at = offset;
  }

  struct(depth: number): number {
    if (depth > MAX_DEPTH) throw new RangeError('its metadata is nested too deeply');
    for (;;) {
      const head = this.#byte();
      const type = head & 0x0f;
      if (type === 0) return this.#at;
      if (head >> 4 === 0) this.#varint();
      // A boolean's value is its type.
      if (type > 2) this.#element(type, depth);
    }
  }

  #element(type: number, depth: number): void {
    switch (type) {
      case 1:
      case 2:
      case BYTE:
        this.#skip(1);
        return;
      case I16:
      case I32:
      case I64:
        this.#varint();
        return;
      case DOUBLE:
        this.#skip(8);
        return;
      case BINARY:
        this.#skip(this.#varint());
        return;
      case LIST:
      case SET: {
        const head = this.#byte();
        const size = head >> 4 === 15 ? this.#varint() : head >> 4;
        // Each member takes a byte at least.
        if (size > this.#bytes.length - this.#at) throw new RangeError('its metadata has a list that is longer than the file');
        if (depth >= MAX_DEPTH) throw new RangeError('its metadata is nested too deeply');
        for (let member = 0; member < size; member++) this.#element(head & 0x0f, depth + 1);
        return;
      }
      case STRUCT:
        this.struct(depth + 1);
        return;
      default:
        throw new RangeError('its metadata has an unknown type');
    }
  }

  #byte(): number {
    const byte = this.#bytes[this.#at];
    if (byte === undefined) throw new RangeError('its metadata ends too early');
    this.#at += 1;
    return byte;
  }

  #skip(length: number): void {
    if (length > this.#bytes.length - this.#at) throw new RangeError('its metadata ends too early');
    this.#at += length;
  }

  #varint(): number {
    let value = 0;
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      const byte = this.#byte();
      value += (byte & 0x7f) * 2 ** (7 * count);
      if (byte < 0x80) return value;
    }
    throw new RangeError('its metadata has a number that is too long');
  }
}
