import type { Told } from '../run-ledger.ts';

/** A lookup that is about to be asked for. */
export interface Ask {
  readonly scope: number;
  readonly key: string;
  /** From `keyHash`. */
  readonly hash: number;
  readonly told: Told;
}

/** Lookups that other runs are asking for, by the key's hash, the longest waiting first. Pure. */
export class WaitingAsks {
  readonly #asks = new Map<number, Ask[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(hash: number): boolean {
    return this.#asks.has(hash);
  }

  add(ask: Ask): void {
    const others = this.#asks.get(ask.hash);
    if (others === undefined) this.#asks.set(ask.hash, [ask]);
    else others.push(ask);
    this.#size++;
  }

  /** Those with this hash; they wait no longer. */
  take(hash: number): readonly Ask[] {
    const asks = this.#asks.get(hash) ?? [];
    this.#asks.delete(hash);
    this.#size -= asks.length;
    return asks;
  }

  /** Those that have waited longest, of so many hashes; they wait no longer. */
  takeLongest(hashes: number): readonly Ask[] {
    const taken: Ask[] = [];
    for (const hash of this.#asks.keys()) {
      if (hashes-- <= 0) break;
      taken.push(...this.take(hash));
    }
    return taken;
  }
}
