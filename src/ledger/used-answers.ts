/** Answers in a block of bits, and the bytes it takes. */
const BLOCK_ANSWERS = 32_768;
const BLOCK_BYTES = BLOCK_ANSWERS / 8;

/**
 * The answers of earlier runs that this run has used: one bit each, in blocks on disk. A used answer counts once, and does not become too
 * old while the run goes on. Pure.
 */
export class UsedAnswers {
  readonly #blocks = new Map<number, Uint8Array>();
  readonly #changed = new Set<number>();

  /** A block as it was stored. */
  load(block: number, bits: Uint8Array): void {
    this.#blocks.set(
      block,
      Uint8Array.from({ length: BLOCK_BYTES }, (_, i) => bits[i] ?? 0),
    );
  }

  has(id: number): boolean {
    const bits = this.#blocks.get(Math.floor(id / BLOCK_ANSWERS));
    return bits !== undefined && ((bits[(id % BLOCK_ANSWERS) >> 3] as number) & (1 << (id & 7))) !== 0;
  }

  add(id: number): void {
    const block = Math.floor(id / BLOCK_ANSWERS);
    let bits = this.#blocks.get(block);
    if (bits === undefined) this.#blocks.set(block, (bits = new Uint8Array(BLOCK_BYTES)));
    const at = (id % BLOCK_ANSWERS) >> 3;
    bits[at] = (bits[at] as number) | (1 << (id & 7));
    this.#changed.add(block);
  }

  /** Blocks that have changed since they were stored. */
  changed(): (readonly [number, Uint8Array])[] {
    return [...this.#changed].flatMap((block) => {
      const bits = this.#blocks.get(block);
      return bits === undefined ? [] : [[block, bits] as const];
    });
  }

  /** All changed blocks are stored. */
  kept(): void {
    this.#changed.clear();
  }
}

/** A block together with its stored bits, of another process of the same run or an earlier one. */
export function bothUsed(bits: Uint8Array, kept: unknown): Uint8Array {
  return kept instanceof Uint8Array ? bits.map((byte, i) => byte | (kept[i] ?? 0)) : bits;
}
