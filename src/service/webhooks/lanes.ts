/** In which turn it is looked for what is due: key by key, and of each key host by host, each time behind what was looked at last. So who has much waiting, for however many hosts, is one among others. */
import type { DeliveryRows } from './delivery-rows.ts';
import type { Lane } from './slots.ts';

/** Looked at in one go: each takes some microseconds from requests. */
const AT_ONCE = 256;
/** Of one key. */
const A_KEY = 32;
/** Keys of so many hosts that they were not all looked at, and of which it is known where they were left; of more of them it is begun anew. */
const MOST_KEYS = 1_000;

export class Lanes {
  readonly #rows: Pick<DeliveryRows, 'keyAfter' | 'hostAfter'>;
  readonly #lastHosts = new Map<string, string>();
  #lastKey = '';

  constructor(rows: Pick<DeliveryRows, 'keyAfter' | 'hostAfter'>) {
    this.#rows = rows;
  }

  /** Some for which something waits, due or not. @param isFull whether nothing may be begun for a key */
  *inTurn(isFull: (keyId: string) => boolean): Generator<Lane> {
    let left = AT_ONCE;
    for (const keyId of around((place) => this.#rows.keyAfter(place), this.#lastKey)) {
      // Its turn is not over before one of its hosts was looked at.
      if (left < 2) return;
      this.#lastKey = keyId;
      left--;
      if (isFull(keyId)) continue;
      let leftOfKey = Math.min(left, A_KEY);
      const last = this.#lastHosts.get(keyId);
      for (const host of around((place) => this.#rows.hostAfter(keyId, place), last ?? '')) {
        if (leftOfKey-- === 0) break;
        left--;
        this.#noteHost(keyId, host);
        yield { keyId, host };
      }
      if (last === undefined && leftOfKey >= 0) this.#lastHosts.delete(keyId);
    }
  }

  #noteHost(keyId: string, host: string): void {
    if (this.#lastHosts.size >= MOST_KEYS && !this.#lastHosts.has(keyId)) this.#lastHosts.clear();
    this.#lastHosts.set(keyId, host);
  }
}

/** All places in order, from behind `start`, once around. */
function* around(after: (place: string) => string | null, start: string): Generator<string> {
  for (let place = after(start); place !== null; place = after(place)) yield place;
  for (let place = after(''); place !== null && place <= start; place = after(place)) yield place;
}
