/** Whole numbers of the rows of a chunk, packed: each as its distance from the least, in a unit that all of them share, in as few bytes as the greatest needs. Pure. */

/** Rows in one kept chunk. */
export const CHUNK = 4_096;

/** Days and seconds of times that are whole ones. */
const UNITS = [86_400_000, 1_000] as const;

export interface Packed {
  readonly least: number;
  readonly most: number;
  readonly unit: number;
  /** Of each row, 0: it has no number, else its distance from the least, and 1: as integers of 8, 16 or 32 bits, or as doubles. */
  readonly codes: Uint8Array<ArrayBuffer>;
}

/** The numbers of a chunk where they are kept: code c stands for `least + (c - 1) * unit`, and is in the order of what it stands for. */
export interface Coded {
  readonly least: number;
  readonly unit: number;
  readonly codes: Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;
}

/** Of rows that have none. */
export const NO_NUMBERS: Coded = { least: 0, unit: 1, codes: new Uint8Array(CHUNK) };

/** @param numbers of `CHUNK` rows, less than 2^53 apart; NaN where a row has none @returns null when none has one */
export function pack(numbers: Float64Array): Packed | null {
  let [least, most] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (number < least) least = number;
    if (number > most) most = number;
  }
  if (least > most) return null;
  const unit = UNITS.find((each) => numbers.every((number) => Number.isNaN(number) || (number - least) % each === 0)) ?? 1;
  const greatest = (most - least) / unit + 1;
  const codes = greatest < 2 ** 8 ? new Uint8Array(CHUNK) : greatest < 2 ** 16 ? new Uint16Array(CHUNK) : greatest < 2 ** 32 ? new Uint32Array(CHUNK) : new Float64Array(CHUNK);
  for (let at = 0; at < CHUNK; at++) {
    const number = numbers[at] ?? NaN;
    codes[at] = Number.isNaN(number) ? 0 : (number - least) / unit + 1;
  }
  return { least, most, unit, codes: new Uint8Array(codes.buffer) };
}

/** The numbers again, into `numbers`. */
export function unpack(packed: Omit<Packed, 'most'>, numbers: Float64Array): void {
  const { least, unit, codes } = coded(packed);
  for (let at = 0; at < CHUNK; at++) {
    const code = codes[at] ?? 0;
    numbers[at] = code === 0 ? NaN : least + (code - 1) * unit;
  }
}

export function coded({ least, unit, codes }: Omit<Packed, 'most'>): Coded {
  return { least, unit, codes: codesOf(codes) };
}

/** Which of the 32 rows from `from` on have a code from `low` to `high`, as bits. Without a branch for each, which would be guessed wrong as often as not. */
export function codesWithin(codes: Coded['codes'], from: number, low: number, high: number): number {
  let found = 0;
  for (let at = from + 28; at >= from; at -= 4) {
    const a = codes[at] ?? 0;
    const b = codes[at + 1] ?? 0;
    const c = codes[at + 2] ?? 0;
    const d = codes[at + 3] ?? 0;
    const four = (Number(a >= low) & Number(a <= high)) | ((Number(b >= low) & Number(b <= high)) << 1) | ((Number(c >= low) & Number(c <= high)) << 2) | ((Number(d >= low) & Number(d <= high)) << 3);
    found = (found << 4) | four;
  }
  return found;
}

/** Blobs come without a promise of alignment. */
function codesOf(kept: Uint8Array<ArrayBuffer>): Coded['codes'] {
  const bytes = kept.byteOffset % 8 === 0 ? kept : kept.slice();
  switch (kept.length / CHUNK) {
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
