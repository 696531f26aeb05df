/**
 * Detects a network that blocks port 25. Many networks drop those packets silently, so that each host would cost a full timeout and look
 * dead.
 */
import { SmtpFailure } from './connection.ts';
import { SessionFailure } from './session.ts';

/**
 * Silent hosts of different domains within a minute that mean a blocked port, while no host answers. A batch rarely begins with that many
 * dead hosts. Hosts of one domain count once, since they often fail together.
 */
const SILENT_HOSTS = 3;
const WINDOW_MS = 60_000;
/** How long one connection proves that the port is open, and how long a blocked port is not tried again. */
const PROVEN_MS = 600_000;
const BLOCKED_MS = 60_000;

export class Reachability {
  readonly #clock: () => number;
  /** The last silent host of each domain, and when it timed out, monotonic milliseconds. */
  readonly #silent = new Map<string, { readonly host: string; readonly atMs: number }>();
  #reachedMs = -Infinity;
  #blockedUntilMs = -Infinity;
  #controller = new AbortController();

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Aborts when nothing can be reached, so that pending connections end at once. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The failure for a caller that wants to connect; null when it may try. */
  blockedFailure(): SessionFailure | null {
    if (this.#blockedUntilMs <= this.#clock()) return null;
    return new SessionFailure(
      'connect',
      new SmtpFailure('blocked', 'no mail server can be reached from here: the network seems to block port 25'),
    );
  }

  /** Records that a host accepted a connection. */
  reached(): void {
    this.#reachedMs = this.#clock();
    this.#silent.clear();
  }

  /** Records that a host did not answer. @param domain the domain to ask about */
  timedOut(host: string, domain: string): void {
    const now = this.#clock();
    if (now - this.#reachedMs < PROVEN_MS) return;
    for (const [name, silent] of this.#silent) if (now - silent.atMs > WINDOW_MS || silent.host === host) this.#silent.delete(name);
    this.#silent.set(domain, { host, atMs: now });
    if (this.#silent.size < SILENT_HOSTS) return;
    this.#silent.clear();
    this.#blockedUntilMs = now + BLOCKED_MS;
    this.#controller.abort();
    this.#controller = new AbortController();
  }
}
