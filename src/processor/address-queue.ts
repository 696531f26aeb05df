/** The addresses that wait for a verify request, in groups that no request crosses. Pure. */

/** Addresses of one group, in the order of arrival. */
export interface AddressGroup {
  readonly emails: readonly string[];
  /** The sequence number of each address, in the order of arrival. */
  readonly places: readonly number[];
  /** The number of groups closed before this one. */
  readonly before: number;
}

interface Waiting {
  readonly email: string;
  readonly place: number;
  readonly before: number;
}

/**
 * One list in the order of arrival. Addresses that are put back return to their old place. A run after a kill sees the same list, and so
 * fills the same requests under the same Idempotency-Keys.
 */
export class AddressQueue {
  #waiting: Waiting[] = [];
  /** Addresses that ever arrived. */
  #came = 0;
  /** Groups that were closed. */
  #closed = 0;

  /** Addresses that wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** Waiting addresses of the next group, and whether others can still join it; null when nothing waits. */
  get next(): { readonly waiting: number; readonly isClosed: boolean } | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const isClosed = first.before < this.#closed;
    return { waiting: isClosed ? this.#firstWhere(({ before }) => before > first.before) : this.size, isClosed };
  }

  add(email: string): void {
    this.#waiting.push({ email, place: this.#came++, before: this.#closed });
  }

  /** Closes the group: later addresses start another one. */
  close(): void {
    this.#closed++;
  }

  /** Takes the first `addresses` of the next group. */
  take(addresses: number): AddressGroup {
    const taken = this.#waiting.splice(0, addresses);
    return { emails: taken.map(({ email }) => email), places: taken.map(({ place }) => place), before: taken[0]?.before ?? this.#closed };
  }

  /** Puts addresses back into their old place. */
  putBack({ emails, places, before }: AddressGroup): void {
    for (const [at, email] of emails.entries()) this.#waiting.push({ email, place: places[at] as number, before });
    this.#waiting.sort((one, other) => one.place - other.place);
  }

  /** The index of the first match, where all after it match too; else the number of waiting addresses. */
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
