/** A circuit breaker for each mail host. Pure. */
import { LruMap } from '../../util/lru-map.ts';

/** Consecutive failures that open the circuit, and how long it stays open. */
const FAILURES = 3;
const OPEN_MS = 60_000;
const MAX_HOSTS = 20_000;

interface HostHealth<E> {
  failures: number;
  openUntilMs: number;
  last: E;
}

export class HostCircuits<E> {
  readonly #clock: () => number;
  readonly #hosts = new LruMap<string, HostHealth<E>>(MAX_HOSTS);

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The last failure of a host whose circuit is open; null when it may be tried. After that time a single failure opens it again. */
  failureIfOpen(host: string): E | null {
    const health = this.#hosts.peek(host);
    return health !== undefined && health.openUntilMs > this.#clock() ? health.last : null;
  }

  succeeded(host: string): void {
    this.#hosts.delete(host);
  }

  failed(host: string, error: E): void {
    const health = this.#hosts.get(host) ?? { failures: 0, openUntilMs: 0, last: error };
    health.failures++;
    health.last = error;
    if (health.failures >= FAILURES) health.openUntilMs = this.#clock() + OPEN_MS;
    this.#hosts.set(host, health);
  }
}
