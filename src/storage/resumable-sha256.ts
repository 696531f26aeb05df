/**
 * SHA-256 (FIPS 180-4) with a state that another process can continue. node:crypto does not export its state, and an output in S3 would
 * have to be downloaded again for its digest. Pure.
 */

const BLOCK = 64;
/** A state: the eight words, the length so far, and the bytes of the incomplete block. */
const STATE = /^([0-9a-f]{64})\.(\d{1,16})\.((?:[0-9a-f]{2}){0,63})$/;

/** First 32 bits of the fractional parts of square roots (first eight primes) and cube roots (first 64 primes) (4.2.2, 5.3.3). */
const PRIMES = firstPrimes(64);
const INITIAL = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

export class ResumableSha256 {
  readonly #words = Int32Array.from(INITIAL);
  readonly #schedule = new Int32Array(BLOCK);
  readonly #held = Buffer.alloc(BLOCK);
  #heldBytes = 0;
  #length = 0;

  /** Continues from a `state`. @throws Error when the text is not a state */
  static from(state: string): ResumableSha256 {
    const [, words = '', length = '', held = ''] = STATE.exec(state) ?? [];
    const hash = new ResumableSha256();
    hash.#length = Number(length);
    hash.#heldBytes = hash.#held.write(held, 'hex');
    if (words === '' || hash.#heldBytes !== hash.#length % BLOCK) throw new Error('no state of a SHA-256');
    for (let i = 0; i < 8; i++) hash.#words[i] = Number.parseInt(words.slice(i * 8, i * 8 + 8), 16);
    return hash;
  }

  /** Plain text for `from`. */
  get state(): string {
    return `${this.#hex()}.${this.#length}.${this.#held.toString('hex', 0, this.#heldBytes)}`;
  }

  update(bytes: Buffer): void {
    let at = 0;
    this.#length += bytes.length;
    if (this.#heldBytes > 0) {
      at = bytes.copy(this.#held, this.#heldBytes);
      this.#heldBytes += at;
      if (this.#heldBytes < BLOCK) return;
      this.#block(this.#held, 0);
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) this.#block(bytes, at);
    this.#heldBytes = bytes.copy(this.#held, 0, at);
  }

  /** Hex digest of everything so far. More bytes may follow. */
  digest(): string {
    const last = ResumableSha256.from(this.state);
    // Padding: a one, zeros, and the length in bits at the end of a block (5.1.1).
    const padding = Buffer.alloc((this.#heldBytes < BLOCK - 8 ? BLOCK : 2 * BLOCK) - this.#heldBytes);
    padding[0] = 0x80;
    padding.writeBigUInt64BE(BigInt(this.#length) * 8n, padding.length - 8);
    last.update(padding);
    return last.#hex();
  }

  #hex(): string {
    return [...this.#words].map((one) => (one >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /** The compression function (6.2.2). */
  #block(bytes: Buffer, at: number): void {
    const w = this.#schedule;
    const words = this.#words;
    for (let t = 0; t < 16; t++, at += 4) w[t] = bytes.readInt32BE(at);
    for (let t = 16; t < BLOCK; t++) {
      const x = word(w, t - 15);
      const y = word(w, t - 2);
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[t] = (word(w, t - 16) + s0 + word(w, t - 7) + s1) | 0;
    }
    let a = word(words, 0),
      b = word(words, 1),
      c = word(words, 2),
      d = word(words, 3),
      e = word(words, 4),
      f = word(words, 5),
      g = word(words, 6),
      h = word(words, 7);
    for (let t = 0; t < BLOCK; t++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + word(ROUND, t) + word(w, t)) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    words[0] = word(words, 0) + a;
    words[1] = word(words, 1) + b;
    words[2] = word(words, 2) + c;
    words[3] = word(words, 3) + d;
    words[4] = word(words, 4) + e;
    words[5] = word(words, 5) + f;
    words[6] = word(words, 6) + g;
    words[7] = word(words, 7) + h;
  }
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate++) if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  return primes;
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32);
}

/** An element at an index that is known to exist. */
function word(numbers: Int32Array, index: number): number {
  return numbers[index] as number;
}
