/**
 * Packs the integers of a chunk by frame of reference: each is stored as its distance from the least, in a common unit, in as few bytes
 * as the greatest distance needs. Pure.
 */

/** Rows of one stored chunk. */
export const CHUNK = 4_096;

/** Days and seconds, for times that are multiples of them. */
const UNITS = [86_400_000, 1_000] as const;

export interface Packed {
  readonly least: number;
  readonly most: number;
  readonly unit: number;
  /** For each row 0 when it has no number, else 1 + its distance from the least: as integers of 8, 16 or 32 bits, or as doubles. */
  readonly codes: Uint8Array<ArrayBuffer>;
}

/** A chunk in memory. Code c stands for the number `least + (c - 1) * unit`, so codes have the order of the numbers. */
export interface DecodedChunk {
  readonly least: number;
  readonly unit: number;
  readonly codes: Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;
}

/** A chunk whose rows have no number. */
export const EMPTY_CHUNK: DecodedChunk = { least: 0, unit: 1, codes: new Uint8Array(CHUNK) };

/** @param numbers of `CHUNK` rows, less than 2^53 apart; NaN for a row without one @returns null when no row has one */
export function pack(numbers: Float64Array): Packed | null {
  let [least, most] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
  }
  if (least > most) return null;
  const unit = UNITS.find((each) => numbers.every((number) => Number.isNaN(number) || (number - least) % each === 0)) ?? 1;
  const greatest = (most - least) / unit + 1;
  const codes =
    greatest < 2 ** 8
      ? new Uint8Array(CHUNK)
      : greatest < 2 ** 16
        ? new Uint16Array(CHUNK)
        : greatest < 2 ** 32
          ? new Uint32Array(CHUNK)
          : new Float64Array(CHUNK);
  for (let at = 0; at < CHUNK; at++) {
    const number = numbers[at] ?? NaN;
    codes[at] = Number.isNaN(number) ? 0 : (number - least) / unit + 1;
  }
  return { least, most, unit, codes: new Uint8Array(codes.buffer) };
}

/** Writes the numbers of a packed chunk into `numbers`. */
export function unpack(packed: Omit<Packed, 'most'>, numbers: Float64Array): void {
  const { least, unit, codes } = decodeChunk(packed);
  for (let at = 0; at < CHUNK; at++) {
    const code = codes[at] ?? 0;
    numbers[at] = code === 0 ? NaN : least + (code - 1) * unit;
  }
}

export function decodeChunk({ least, unit, codes }: Omit<Packed, 'most'>): DecodedChunk {
  return { least, unit, codes: codesOf(codes) };
}

/** Which of the 32 rows from `from` on have a code from `low` to `high`, as bits. It has no branch that the processor could mispredict. */
export function codesInRange(codes: DecodedChunk['codes'], from: number, low: number, high: number): number {
  let found = 0;
  for (let at = from + 28; at >= from; at -= 4) {
    const a = codes[at] ?? 0;
    const b = codes[at + 1] ?? 0;
    const c = codes[at + 2] ?? 0;
    const d = codes[at + 3] ?? 0;
    const four =
      (Number(a >= low) & Number(a <= high)) |
      ((Number(b >= low) & Number(b <= high)) << 1) |
      ((Number(c >= low) & Number(c <= high)) << 2) |
      ((Number(d >= low) & Number(d <= high)) << 3);
    found = (found << 4) | four;
  }
  return found;
}

/** SQLite's blobs may be unaligned, and are then copied. */
function codesOf(stored: Uint8Array<ArrayBuffer>): DecodedChunk['codes'] {
  const bytes = stored.byteOffset % 8 === 0 ? stored : stored.slice();
  switch (stored.length / CHUNK) {
    case 1:
      return bytes;
    case 2:
      return new Uint16Array(bytes.buffer, bytes.byteOffset, CHUNK);
    case 4:
      return new Uint32Array(bytes.buffer, bytes.byteOffset, CHUNK);
    default:
      return new Float64Array(bytes.buffer, bytes.byteOffset, CHUNK);
  }
}
