/** The addresses that wait for a verify request, in groups that no request crosses. Pure. */

/** Addresses of one group, in the order in which they came. */
export interface Group {
  readonly emails: readonly string[];
  /** The number of each, in the order in which addresses came. Numbers between them may be answered. */
  readonly places: readonly number[];
  /** How many groups were closed before theirs. */
  readonly before: number;
}

interface Waiting { readonly email: string; readonly place: number; readonly before: number }

/** Those addresses of a group that are wanted. */
export function partOf({ emails, places, before }: Group, isWanted: (email: string, at: number) => boolean): Group {
  return { emails: emails.filter(isWanted), places: places.filter((_, at) => isWanted(emails[at] as string, at)), before };
}

/**
 * One list, in the order in which addresses came; what is put back returns to its old place and joins its neighbours. A run that
 * was killed sees just this list, and so fills the same requests again, under the same Idempotency-Keys.
 */
export class AddressQueue {
  #waiting: Waiting[] = [];
  /** Addresses that ever came. */
  #came = 0;
  /** Groups that were closed. */
  #closed = 0;

  /** Addresses that wait. */
  get size(): number {
    return this.#waiting.length;
  }

  /** How many addresses of the next group wait, and whether others can still join it; null: nothing waits. */
  get next(): { readonly waiting: number; readonly isClosed: boolean } | null {
    const [first] = this.#waiting;
    if (first === undefined) return null;
    const isClosed = first.before < this.#closed;
    return { waiting: isClosed ? this.#firstWhere(({ before }) => before > first.before) : this.size, isClosed };
  }

  add(email: string): void {
    this.#waiting.push({ email, place: this.#came++, before: this.#closed });
  }

  /** No other address joins those that came so far. */
  close(): void {
    this.#closed++;
  }

  /** Takes the first `addresses` of the next group. */
  take(addresses: number): Group {
    const taken = this.#waiting.splice(0, addresses);
    return { emails: taken.map(({ email }) => email), places: taken.map(({ place }) => place), before: taken[0]?.before ?? this.#closed };
  }

  /** What was taken waits again, in its old place. */
  putBack({ emails, places, before }: Group): void {
    for (const [at, email] of emails.entries()) this.#waiting.push({ email, place: places[at] as number, before });
    this.#waiting.sort((one, other) => one.place - other.place);
  }

  /** The index of the first that is so, where all behind it are so as well; else how many wait. */
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
