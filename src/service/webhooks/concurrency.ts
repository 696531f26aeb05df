/**
 * Concurrency limits for attempts: in total, per host and per key. A silent host or a large backlog does not delay other destinations.
 * Pure.
 */

/** How many failing destinations are remembered. */
const MAX_FAILING = 10_000;

/** Attempts for one key to one host: they share slots, backoff and probe. */
export interface Destination {
  readonly keyId: string;
  /** Host name with its port. */
  readonly host: string;
}

interface ConcurrencyLimits {
  readonly total: number;
  readonly perHost: number;
}

/**
 * Fair shares: a key may take a slot while it holds fewer slots than are free, in total and at the host. So a new key finds a slot soon.
 */
export class ConcurrencySlots {
  readonly #options: ConcurrencyLimits;
  readonly #all = new Share();
  readonly #byHost = new Map<string, Share>();
  /** Destinations whose last attempt failed: they get one attempt at a time. */
  readonly #failing: Set<string>;

  constructor(options: ConcurrencyLimits, failing = new Set<string>()) {
    this.#options = options;
    this.#failing = failing;
  }

  /** The number of attempts that may start now for a destination. */
  freeFor({ keyId, host }: Destination): number {
    const { total, perHost } = this.#options;
    const ofHost = this.#byHost.get(host) ?? NOBODY;
    const ofDestination = this.#failing.has(destinationName({ keyId, host })) ? 1 - ofHost.heldBy(keyId) : perHost;
    return Math.max(0, Math.min(this.#all.freeFor(keyId, total), ofHost.freeFor(keyId, perHost), ofDestination));
  }

  /** Whether a key has no free slot. */
  isFull(keyId: string): boolean {
    return this.#all.freeFor(keyId, this.#options.total) === 0;
  }

  /** Free slots in total. */
  get available(): number {
    return this.#options.total - this.#all.held;
  }

  acquire({ keyId, host }: Destination): void {
    this.#all.acquire(keyId);
    let ofHost = this.#byHost.get(host);
    if (ofHost === undefined) this.#byHost.set(host, (ofHost = new Share()));
    ofHost.acquire(keyId);
  }

  /** @param isHealthy false limits the destination to one attempt at a time from now on */
  release({ keyId, host }: Destination, isHealthy: boolean): void {
    this.#all.release(keyId);
    const ofHost = this.#byHost.get(host);
    ofHost?.release(keyId);
    if (ofHost?.held === 0) this.#byHost.delete(host);
    const name = destinationName({ keyId, host });
    if (isHealthy) {
      this.#failing.delete(name);
      return;
    }
    if (this.#failing.size >= MAX_FAILING) this.#failing.clear();
    this.#failing.add(name);
  }

  /** A copy to plan with. */
  copy(): ConcurrencySlots {
    const copy = new ConcurrencySlots(this.#options, this.#failing);
    for (const [host, share] of this.#byHost)
      for (const [keyId, held] of share.holders()) for (let n = 0; n < held; n++) copy.acquire({ keyId, host });
    return copy;
  }
}

/** Slots by the keys that hold them. */
class Share {
  readonly #byKey = new Map<string, number>();
  held = 0;

  heldBy(keyId: string): number {
    return this.#byKey.get(keyId) ?? 0;
  }

  /** The number of slots that a key may still acquire of `limit`. Before each it must hold fewer slots than are free. */
  freeFor(keyId: string, limit: number): number {
    return Math.max(0, Math.floor((limit - this.held - this.heldBy(keyId) + 1) / 2));
  }

  acquire(keyId: string): void {
    this.held++;
    this.#byKey.set(keyId, this.heldBy(keyId) + 1);
  }

  release(keyId: string): void {
    this.held--;
    const left = this.heldBy(keyId) - 1;
    if (left === 0) this.#byKey.delete(keyId);
    else this.#byKey.set(keyId, left);
  }

  holders(): Iterable<[string, number]> {
    return this.#byKey;
  }
}

const NOBODY = new Share();

/** A destination as one text: no host contains a line end. */
export function destinationName({ keyId, host }: Destination): string {
  return `${host}\n${keyId}`;
}
