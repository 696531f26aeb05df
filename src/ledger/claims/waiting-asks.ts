import type { LookupListener } from '../run-ledger.ts';

/** A lookup that is about to be asked for. */
export interface ClaimAsk {
  readonly scope: number;
  readonly key: string;
  /** From `lookupHash`. */
  readonly hash: number;
  /** See `RunLedger.ask`. */
  readonly unfit: string | null;
  readonly onAnswer: LookupListener;
}

/** Lookups that other runs are asking for, by the key's hash, the longest waiting first. Pure. */
export class WaitingAsks {
  readonly #asks = new Map<number, ClaimAsk[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(hash: number): boolean {
    return this.#asks.has(hash);
  }

  add(ask: ClaimAsk): void {
    const others = this.#asks.get(ask.hash);
    if (others === undefined) this.#asks.set(ask.hash, [ask]);
    else others.push(ask);
    this.#size++;
  }

  /** Takes the lookups with this hash. */
  take(hash: number): readonly ClaimAsk[] {
    const asks = this.#asks.get(hash) ?? [];
    this.#asks.delete(hash);
    this.#size -= asks.length;
    return asks;
  }

  /** Takes the lookups of this many hashes that have waited longest. */
  takeLongest(hashes: number): readonly ClaimAsk[] {
    const taken: ClaimAsk[] = [];
    for (const hash of this.#asks.keys()) {
      if (hashes-- <= 0) break;
      taken.push(...this.take(hash));
    }
    return taken;
  }
}
