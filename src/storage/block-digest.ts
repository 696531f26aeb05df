/**
 * A digest of a growing file that another process can go on with: node:crypto gives no state away. Full blocks are chained,
 * each by its SHA-256, so only what does not fill a block yet must be read again.
 */
import { createHash, type Hash } from 'node:crypto';

/** Changing it makes another digest of the same bytes. */
const BLOCK_BYTES = 1024 * 1024;
const STATE = /^([0-9a-f]{64}|)\.(\d{1,16})\.([0-9a-f]{64})$/;

export class BlockDigest {
  /** Hex; '': no block is full yet. */
  #chain = '';
  #bytes = 0;
  #block: Hash = createHash('sha256');

  /** Where the bytes begin that `from` must be given. 0 for what is no state, which nothing goes on from. */
  static openFrom(state: string): number {
    const bytes = Number(STATE.exec(state)?.[2] ?? 0);
    return bytes - (bytes % BLOCK_BYTES);
  }

  /** One that goes on where another stood. Null: these are other bytes than those that did not fill a block then. */
  static from(state: string, open: Buffer): BlockDigest | null {
    const digest = new BlockDigest();
    digest.#chain = STATE.exec(state)?.[1] ?? '';
    digest.#bytes = BlockDigest.openFrom(state);
    digest.update(open);
    return digest.state === state ? digest : null;
  }

  /** Plain text: see `from`. Two files with the same state are the same. */
  get state(): string {
    return `${this.#chain}.${this.#bytes}.${this.#block.copy().digest('hex')}`;
  }

  update(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
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
