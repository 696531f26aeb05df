/** A cache with expiry, where concurrent requests for one key share one load. */
import { LruMap } from '../../util/lru-map.ts';

export interface CachedValue<T> {
  readonly value: T;
  /** Milliseconds for which the value is cached; 0: not at all. */
  readonly forMs: number;
}

export class CoalescingCache<T> {
  readonly #clock: () => number;
  readonly #entries: LruMap<string, { readonly value: T; readonly untilMs: number }>;
  readonly #loading = new Map<string, Promise<T>>();

  /** @param clock monotonic, milliseconds. @param maxEntries beyond this many, the entry used longest ago is evicted */
  constructor(clock: () => number, maxEntries: number) {
    this.#clock = clock;
    this.#entries = new LruMap(maxEntries);
  }

  /** The cached value of `key`, else the result of `load`. When `load` rejects, all waiting callers fail, and the next call loads again. */
  get(key: string, load: () => Promise<CachedValue<T>>): Promise<T> {
    const cached = this.peek(key);
    if (cached !== undefined) return Promise.resolve(cached);
    const pending = this.#loading.get(key);
    if (pending !== undefined) return pending;
    const loading = load()
      .then(({ value, forMs }) => {
        this.put(key, value, forMs);
        return value;
      })
      .finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }

  peek(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (entry.untilMs > this.#clock()) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  put(key: string, value: T, forMs: number): void {
    this.#entries.delete(key);
    if (forMs <= 0) return;
    this.#entries.set(key, { value, untilMs: this.#clock() + forMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}
