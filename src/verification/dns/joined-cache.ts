/** Answers kept for a while, and questions asked once however many wait for the answer. */

export interface Kept<T> {
  readonly value: T;
  /** Milliseconds for which the value holds; 0 is not kept. */
  readonly forMs: number;
}

export class JoinedCache<T> {
  readonly #clock: () => number;
  readonly #maxEntries: number;
  readonly #kept = new Map<string, { readonly value: T; readonly untilMs: number }>();
  readonly #asked = new Map<string, Promise<T>>();

  /** @param clock monotonic, milliseconds. The entry put first goes first when there are more than `maxEntries`. */
  constructor(clock: () => number, maxEntries: number) {
    this.#clock = clock;
    this.#maxEntries = maxEntries;
  }

  /** The kept value of `key`, else what `load` comes to. When `load` rejects, all who wait are told, and the next one asks again. */
  get(key: string, load: () => Promise<Kept<T>>): Promise<T> {
    const kept = this.peek(key);
    if (kept !== undefined) return Promise.resolve(kept);
    const asked = this.#asked.get(key);
    if (asked !== undefined) return asked;
    const asking = load()
      .then(({ value, forMs }) => {
        this.put(key, value, forMs);
        return value;
      })
      .finally(() => this.#asked.delete(key));
    this.#asked.set(key, asking);
    return asking;
  }

  peek(key: string): T | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    if (kept.untilMs > this.#clock()) return kept.value;
    this.#kept.delete(key);
    return undefined;
  }

  put(key: string, value: T, forMs: number): void {
    this.#kept.delete(key);
    if (forMs <= 0) return;
    this.#kept.set(key, { value, untilMs: this.#clock() + forMs });
    if (this.#kept.size <= this.#maxEntries) return;
    const [first] = this.#kept.keys();
    if (first !== undefined) this.#kept.delete(first);
  }

  get size(): number {
    return this.#kept.size;
  }
}
