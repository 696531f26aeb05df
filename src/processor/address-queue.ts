/** The addresses that wait for a verify request, in groups that no request crosses. Pure. */

export interface Group {
  /** The number of its first address, in the order in which addresses came. */
  readonly from: number;
  readonly emails: readonly string[];
}

/** A group of which the first `taken` addresses have left. */
interface Closed extends Group { taken: number }

/**
 * New addresses gather in one open group. Closed groups go before it, in the order in which their addresses came: a run that was
 * killed then fills the same requests again, under the same Idempotency-Keys.
 */
export class AddressQueue {
  #closed: Closed[] = [];
  #open: string[] = [];
  /** Addresses that ever came. */
  #came = 0;
  #size = 0;

  /** Addresses that wait. */
  get size(): number {
    return this.#size;
  }

  /** How many addresses the next group has, and whether others can still join it; null: nothing waits. */
  get next(): { readonly waiting: number; readonly isClosed: boolean } | null {
    const [group] = this.#closed;
    if (group !== undefined) return { waiting: group.emails.length - group.taken, isClosed: true };
    return this.#open.length === 0 ? null : { waiting: this.#open.length, isClosed: false };
  }

  add(email: string): void {
    this.#open.push(email);
    this.#came++;
    this.#size++;
  }

  /** No other address joins those that came so far. */
  close(): void {
    if (this.#open.length > 0) this.#closed.push({ from: this.#came - this.#open.length, emails: this.#open, taken: 0 });
    this.#open = [];
  }

  /** Takes the first `addresses` of the next group. */
  take(addresses: number): Group {
    this.#size -= addresses;
    const [group] = this.#closed;
    if (group === undefined) return { from: this.#came - this.#open.length, emails: this.#open.splice(0, addresses) };
    const { emails, taken } = group;
    group.taken += addresses;
    if (group.taken === emails.length) this.#closed.shift();
    return { from: group.from + taken, emails: emails.slice(taken, taken + addresses) };
  }

  /** What was taken waits again, in its old place, as a group of its own. */
  putBack(group: Group): void {
    const at = this.#closed.findIndex(({ from, taken }) => from + taken > group.from);
    this.#closed.splice(at === -1 ? this.#closed.length : at, 0, { ...group, taken: 0 });
    this.#size += group.emails.length;
  }
}
