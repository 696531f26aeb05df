/** Names that are counted, and their length at most. A service may invent names. A step and the longest code fit. */
const MOST_NAMES = 32;
const LONGEST_NAME = 72;
/** The name under which all other names are counted. */
const OTHERS = 'other';

/** Counts by name, bounded in number and size whatever the names are. */
export class NamedCounts {
  /** A Map, because a name may be `constructor` or `__proto__`. */
  readonly #counts: Map<string, number>;

  constructor(from: Readonly<Record<string, number>> = {}) {
    this.#counts = new Map(Object.entries(from));
  }

  add(name: string, times: number): void {
    const known = this.#counts.has(name) || (this.#counts.size < MOST_NAMES && name.length <= LONGEST_NAME);
    const counted = known ? name : OTHERS;
    this.#counts.set(counted, (this.#counts.get(counted) ?? 0) + times);
  }

  addAll(counts: Readonly<Record<string, number>>): void {
    for (const [name, times] of Object.entries(counts)) this.add(name, times);
  }

  /** Takes one count back. A name without a count is ignored. */
  takeOne(name: string): void {
    const counted = (this.#counts.get(name) ?? 0) > 0 ? name : OTHERS;
    const times = this.#counts.get(counted) ?? 0;
    if (times > 1) this.#counts.set(counted, times - 1);
    else this.#counts.delete(counted);
  }

  snapshot(): Record<string, number> {
    return Object.fromEntries(this.#counts);
  }
}
