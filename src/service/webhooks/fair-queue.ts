/**
 * Fair scheduling of due deliveries: round robin over API keys, then over the hosts of a key, so that a large backlog cannot starve the
 * other keys.
 */
import type { DeliveryRows } from './delivery-rows.ts';
import type { Destination } from './concurrency.ts';

/** Keys and hosts that one round visits at most: each takes some microseconds from requests. */
const MAX_PER_ROUND = 256;
/** Hosts of one key that one round visits at most. */
const MAX_PER_KEY = 32;
/** Keys whose last host is remembered. Beyond this number all are forgotten, and each key begins again at its first host. */
const MAX_KEYS = 1_000;

export class FairQueue {
  readonly #rows: Pick<DeliveryRows, 'keyAfter' | 'hostAfter'>;
  readonly #lastHosts = new Map<string, string>();
  #lastKey = '';
  /** Whether the last round ended at a limit before every destination had its turn. */
  isTruncated = false;

  constructor(rows: Pick<DeliveryRows, 'keyAfter' | 'hostAfter'>) {
    this.#rows = rows;
  }

  /** Yields destinations with a due delivery. @param isFull whether a key has no free slot */
  *roundRobin(nowMs: number, isFull: (keyId: string) => boolean): Generator<Destination> {
    let left = MAX_PER_ROUND;
    this.isTruncated = false;
    for (const { position: keyId } of around((position) => this.#rows.keyAfter(position), this.#lastKey)) {
      // Each key gets a complete turn. Otherwise the last key of each round would get one host.
      if (left <= MAX_PER_KEY) {
        this.isTruncated = true;
        return;
      }
      this.#lastKey = keyId;
      left--;
      if (isFull(keyId)) continue;
      let leftOfKey = Math.min(left, MAX_PER_KEY);
      const last = this.#lastHosts.get(keyId);
      for (const { position: host, nextMs } of around((position) => this.#rows.hostAfter(keyId, position), last ?? '')) {
        if (leftOfKey-- === 0) {
          this.isTruncated = true;
          break;
        }
        left--;
        this.#noteHost(keyId, host);
        if (nextMs <= nowMs) yield { keyId, host };
      }
      if (last === undefined && leftOfKey >= 0) this.#lastHosts.delete(keyId);
    }
  }

  #noteHost(keyId: string, host: string): void {
    if (this.#lastHosts.size >= MAX_KEYS && !this.#lastHosts.has(keyId)) this.#lastHosts.clear();
    this.#lastHosts.set(keyId, host);
  }
}

/** All positions once, in the order of a ring: from after `start` to the end, then from the beginning to `start`. */
function* around<P extends { readonly position: string }>(after: (position: string) => P | null, start: string): Generator<P> {
  for (let found = after(start); found !== null; found = after(found.position)) yield found;
  for (let found = after(''); found !== null && found.position <= start; found = after(found.position)) yield found;
}
