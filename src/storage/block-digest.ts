/**
 * A digest of a growing file that another process can continue. node:crypto does not export its state.
 * Full blocks are chained, each by its SHA-256, so a resume rereads only the last, incomplete block.
 */
import { createHash, type Hash } from 'node:crypto';

/** Part of the digest's definition: another size gives another digest of the same bytes. */
const BLOCK_BYTES = 1024 * 1024;
const STATE = /^([0-9a-f]{64}|)\.(\d{1,16})\.([0-9a-f]{64})$/;

export class BlockDigest {
  /** Hex. Empty until the first block is full. */
  #chain = '';
  #bytes = 0;
  #block: Hash = createHash('sha256');

  /** The offset of the first byte that `from` needs. 0 for a text that is not a state. */
  static openFrom(state: string): number {
    const bytes = Number(STATE.exec(state)?.[2] ?? 0);
    return bytes - (bytes % BLOCK_BYTES);
  }

  /** Continues a stored digest. Null when `open` differs from the bytes of the incomplete block at that time. */
  static from(state: string, open: Buffer): BlockDigest | null {
    const digest = new BlockDigest();
    digest.#chain = STATE.exec(state)?.[1] ?? '';
    digest.#bytes = BlockDigest.openFrom(state);
    digest.update(open);
    return digest.state === state ? digest : null;
  }

  /** Plain text for `from`. Two files with the same state have the same bytes. */
  get state(): string {
    return `${this.#chain}.${this.#bytes}.${this.#block.copy().digest('hex')}`;
  }

  update(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + BLOCK_BYTES - (this.#bytes % BLOCK_BYTES));
      this.#block.update(piece);
      this.#bytes += piece.length;
      at += piece.length;
      if (this.#bytes % BLOCK_BYTES === 0) this.#chainBlock();
    }
  }

  #chainBlock(): void {
    this.#chain = createHash('sha256').update(this.#chain).update(this.#block.digest()).digest('hex');
    this.#block = createHash('sha256');
  }
}
