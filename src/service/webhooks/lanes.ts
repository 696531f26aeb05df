/** In which turn it is looked for what is due: key by key, and of each key host by host, each time behind what was looked at last. So who has much waiting, for however many hosts, is one among others. */
import type { DeliveryRows } from './delivery-rows.ts';
import type { Lane } from './slots.ts';

/** Keys and lanes that are looked at in one go: each takes some microseconds from requests. */
const AT_ONCE = 256;
/** Of one key. */
const A_KEY = 32;
/** Keys of so many hosts that they were not all looked at, and of which it is known where they were left; of more of them it is begun anew. */
const MOST_KEYS = 1_000;

export class Lanes {
  readonly #rows: Pick<DeliveryRows, 'keyAfter' | 'hostAfter'>;
  readonly #lastHosts = new Map<string, string>();
  #lastKey = '';
  /** Whether some had no turn in the last look because there were too many. */
  isCut = false;

  constructor(rows: Pick<DeliveryRows, 'keyAfter' | 'hostAfter'>) {
    this.#rows = rows;
  }

  /** Some for which something is due. @param isFull whether nothing may be begun for a key */
  *inTurn(nowMs: number, isFull: (keyId: string) => boolean): Generator<Lane> {
    let left = AT_ONCE;
    this.isCut = false;
    for (const { place: keyId } of around((place) => this.#rows.keyAfter(place), this.#lastKey)) {
      // A turn is a whole one: a key at the end of each look would otherwise have one host a look.
      if (left <= A_KEY) {
        this.isCut = true;
        return;
      }
      this.#lastKey = keyId;
      left--;
      if (isFull(keyId)) continue;
      let leftOfKey = Math.min(left, A_KEY);
      const last = this.#lastHosts.get(keyId);
      for (const { place: host, nextMs } of around((place) => this.#rows.hostAfter(keyId, place), last ?? '')) {
        if (leftOfKey-- === 0) {
          this.isCut = true;
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
    if (this.#lastHosts.size >= MOST_KEYS && !this.#lastHosts.has(keyId)) this.#lastHosts.clear();
    this.#lastHosts.set(keyId, host);
  }
}

/** All in order, from behind `start`, once around. */
function* around<P extends { readonly place: string }>(after: (place: string) => P | null, start: string): Generator<P> {
  for (let found = after(start); found !== null; found = after(found.place)) yield found;
  for (let found = after(''); found !== null && found.place <= start; found = after(found.place)) yield found;
}
