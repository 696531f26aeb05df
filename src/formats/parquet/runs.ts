/**
 * The integer encodings of Parquet pages: runs and bit-packed groups (levels, dictionary indexes), and the bounds of deltas. Pure.
 * The library's own decoder of runs writes as many values as a run states, however few the page has.
 */

/** Bits of a value. Pages have at most 2^22 values, so no dictionary needs more. */
const MAX_WIDTH = 24;

/** Decodes the RLE and bit-packing hybrid. @param to the end of the encoded bytes @param width bits of a value */
export function readRuns(bytes: Uint8Array, from: number, to: number, width: number, count: number): Uint32Array {
  if (width > MAX_WIDTH) throw new RangeError('its values are too wide');
  const values = new Uint32Array(count);
  const end = Math.min(to, bytes.length);
  let at = from;
  let seen = 0;
  while (seen < count) {
    const [head, next] = readVarint(bytes, at, end);
    at = next;
    if (head % 2 === 1) {
      const groups = Math.floor(head / 2);
      const packed = Math.min(groups * 8, count - seen);
      unpack(bytes, at, end, width, values.subarray(seen, seen + packed));
      seen += packed;
      at = Math.min(end, at + groups * width);
    } else {
      let value = 0;
      const size = Math.ceil(width / 8);
      for (let i = 0; i < size; i++) value |= byteAt(bytes, at + i, end) << (8 * i);
      at += size;
      const run = Math.min(head / 2, count - seen);
      values.fill(value, seen, seen + run);
      seen += run;
    }
  }
  return values;
}

function unpack(bytes: Uint8Array, from: number, end: number, width: number, values: Uint32Array): void {
  const mask = 2 ** width - 1;
  let at = from;
  let held = 0;
  let bits = 0;
  for (let i = 0; i < values.length; i++) {
    while (bits < width) {
      held |= byteAt(bytes, at++, end) << bits;
      bits += 8;
    }
    values[i] = held & mask;
    held >>>= width;
    bits -= width;
  }
}

function byteAt(bytes: Uint8Array, at: number, end: number): number {
  const byte = at < end ? bytes[at] : undefined;
  if (byte === undefined) throw new RangeError('a page ends too early');
  return byte;
}

/** A number in groups of seven bits, and the offset after it. */
function readVarint(bytes: Uint8Array, from: number, end: number): [value: number, next: number] {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = byteAt(bytes, from + i, end);
    value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return [value, from + i + 1];
  }
  throw new RangeError('a page has a number that is too long');
}

/** The offset after a block of deltas (DELTA_BINARY_PACKED) with this many values. @throws RangeError when the bytes do not hold them */
export function deltasEnd(bytes: Uint8Array, from: number, count: number): number {
  const end = bytes.length;
  const [block, afterBlock] = readVarint(bytes, from, end);
  const [parts, afterParts] = readVarint(bytes, afterBlock, end);
  const [total, afterTotal] = readVarint(bytes, afterParts, end);
  const size = block / parts;
  if (total !== count || !(size >= 8) || !Number.isInteger(size / 8) || block > 1 << 20)
    throw new RangeError('a page has deltas of a wrong size');
  let [, at] = readVarint(bytes, afterTotal, end);
  for (let seen = 1; seen < count;) {
    [, at] = readVarint(bytes, at, end);
    const widths = at;
    at += parts;
    for (let part = 0; part < parts && seen < count; part++) {
      const width = byteAt(bytes, widths + part, end);
      if (width > 64) throw new RangeError('a page has deltas of a wrong size');
      at += (size * width) / 8;
      seen += size;
    }
    if (at > end) throw new RangeError('a page ends too early');
  }
  return at;
}
