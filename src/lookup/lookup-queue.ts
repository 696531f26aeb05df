/** The lookups that wait for a request, in groups that no request crosses. Pure. */

/** Lookups of one group, in the order of arrival. */
export interface LookupGroup {
  readonly keys: readonly string[];
  /** The sequence number of each lookup, in the order of arrival. */
  readonly places: readonly number[];
  /** The number of groups closed before this one. */
  readonly before: number;
}

interface Waiting {
  readonly key: string;
  readonly place: number;
  readonly before: number;
}

/**
 * One list in the order of arrival. Lookups that are put back return to their old place. A run after a kill sees the same list, and so
 * fills the same requests under the same Idempotency-Keys.
 */
export class LookupQueue {
  #waiting: Waiting[] = [];
  /** Lookups that ever arrived. */
  #came = 0;
  /** Groups that were closed. */
  #closed = 0;

  /** Lookups that wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Waiting lookups of the next group, and whether others can still join it; null when nothing waits. */
  get next(): { readonly waiting: number; readonly isClosed: boolean } | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const isClosed = first.before < this.#closed;
    return { waiting: isClosed ? this.#firstWhere(({ before }) => before > first.before) : this.size, isClosed };
  }

  add(key: string): void {
    this.#waiting.push({ key, place: this.#came++, before: this.#closed });
  }

  /** Closes the group: later lookups start another one. */
  close(): void {
    this.#closed++;
  }

  /** Takes the first `lookups` of the next group. */
  take(lookups: number): LookupGroup {
    const taken = this.#waiting.splice(0, lookups);
    return { keys: taken.map(({ key }) => key), places: taken.map(({ place }) => place), before: taken[0]?.before ?? this.#closed };
  }

  /** Puts lookups back into their old place. */
  putBack({ keys, places, before }: LookupGroup): void {
    for (const [at, key] of keys.entries()) this.#waiting.push({ key, place: places[at] as number, before });
    this.#waiting.sort((one, other) => one.place - other.place);
  }

  /** The index of the first match, where all after it match too; else the number of waiting lookups. */
  #firstWhere(isSo: (waiting: Waiting) => boolean): number {
    let [low, high] = [0, this.#waiting.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isSo(this.#waiting[middle] as Waiting)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
