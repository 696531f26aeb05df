/** Which mail hosts are not worth another connection for now. Pure. */

/** Failures in a row after which a host is left alone, and for how long. */
const FAILURES = 3;
const REST_MS = 60_000;
const MAX_HOSTS = 20_000;

interface HostHealth<E> {
  failures: number;
  restsUntilMs: number;
  last: E;
}

export class HostCircuits<E> {
  readonly #clock: () => number;
  readonly #hosts = new Map<string, HostHealth<E>>();

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** What went wrong last with a host that rests, so that it goes the same way for all; null: it may be tried. After its rest one more failure sends it back. */
  rests(host: string): E | null {
    const health = this.#hosts.get(host);
    return health !== undefined && health.restsUntilMs > this.#clock() ? health.last : null;
  }

  succeeded(host: string): void {
    this.#hosts.delete(host);
  }

  failed(host: string, error: E): void {
    const health = this.#hosts.get(host) ?? { failures: 0, restsUntilMs: 0, last: error };
    health.failures++;
    health.last = error;
    if (health.failures >= FAILURES) health.restsUntilMs = this.#clock() + REST_MS;
    this.#hosts.delete(host);
    this.#hosts.set(host, health);
    if (this.#hosts.size <= MAX_HOSTS) return;
    const [oldest] = this.#hosts.keys();
    if (oldest !== undefined) this.#hosts.delete(oldest);
  }
}
