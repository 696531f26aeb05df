/** A list of people who are never asked about: addresses, or their SHA-256 digests. Kept as 8 bytes each. Pure. */
import { createHash } from 'node:crypto';
import { addressIn } from '../verification/clean-keys.ts';

const DIGEST = /^[0-9a-f]{64}$/i;
/** The first 8 bytes of a digest: among ten million people another one has the same with a probability of 1 to 200,000. */
const HEX_DIGITS = 16;

export class SuppressedPeople {
  /** Sorted. */
  readonly #digests: BigUint64Array;

  /** @param digests as `digestOfLine` makes them, in any order */
  constructor(digests: readonly bigint[]) {
    this.#digests = BigUint64Array.from(digests).sort();
  }

  get size(): number {
    return this.#digests.length;
  }

  /** @param text an address as a cell or an answer has it */
  has(text: string): boolean {
    const wanted = digestOfAddress(text);
    if (wanted === null) return false;
    let low = 0;
    let high = this.#digests.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#digests[middle] ?? 0n) < wanted) low = middle + 1;
      else high = middle;
    }
    return this.#digests[low] === wanted;
  }
}

/** The person that a line of the list names; null for a line that names nobody. */
export function digestOfLine(line: string): bigint | null {
  const text = line.trim();
  return DIGEST.test(text) ? BigInt(`0x${text.slice(0, HEX_DIGITS)}`) : digestOfAddress(text);
}

/** Addresses are compared as keys are: cleaned, in lower case. */
function digestOfAddress(text: string): bigint | null {
  const key = text === '' ? null : (addressIn(text)?.key ?? null);
  return key === null ? null : BigInt(`0x${createHash('sha256').update(key).digest('hex').slice(0, HEX_DIGITS)}`);
}
