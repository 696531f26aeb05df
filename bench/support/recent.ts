/** What was made lately, by name: of a bounded number, and what is asked for stays longer than what is not. Pure. */

export class Recent<T> {
  readonly #half: number;
  #young = new Map<string, T>();
  #old = new Map<string, T>();

  /** @param most about as many are kept */
  constructor(most: number) {
    this.#half = Math.ceil(most / 2);
  }

  get(name: string): T | undefined {
    const young = this.#young.get(name);
    if (young !== undefined) return young;
    const old = this.#old.get(name);
    if (old !== undefined) this.put(name, old);
    return old;
  }

  /** When the younger half is full it becomes the older one, and what was not asked for since then is gone. */
  put(name: string, value: T): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, value);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
