/** What was read of postings, as much as there is room for: that of the terms that were asked for last. */
import type { Posting } from './posting-reader.ts';

interface Kept {
  readonly posting: Posting;
  bytes: number;
}

export class KeptPostings {
  readonly #most: number;
  /** By term; those that were asked for longest ago come first. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  /** @param most bytes, of all together */
  constructor(most: number) {
    this.#most = most;
  }

  get(term: string): Posting | undefined {
    const known = this.#kept.get(term);
    if (known === undefined) return undefined;
    this.#kept.delete(term);
    this.#kept.set(term, known);
    return known.posting;
  }

  put(term: string, posting: Posting, bytes: number): void {
    this.#kept.set(term, { posting, bytes: 0 });
    this.grow(term, posting, bytes);
  }

  /** Whether a posting may hold so many bytes more. Others may be let go of for them. */
  grow(term: string, posting: Posting, bytes: number): boolean {
    const known = this.#kept.get(term);
    if (known?.posting !== posting) return false;
    known.bytes += bytes;
    this.#bytes += bytes;
    for (const [other, { bytes: held }] of this.#kept) {
      if (this.#bytes <= this.#most) break;
      this.#kept.delete(other);
      this.#bytes -= held;
    }
    return this.#kept.has(term);
  }

  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }
}
