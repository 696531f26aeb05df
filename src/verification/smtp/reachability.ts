/**
 * Whether mail servers can be reached from here at all. Many networks drop what goes to port 25 without a word; then each host would cost the full wait,
 * and none could be told from a dead one.
 */
import { SmtpFailure } from './connection.ts';
import { SessionFailure } from './session.ts';

/**
 * Different hosts of as many domains that did not answer within a minute, with none that did: a batch rarely begins with so many dead ones. The hosts of one
 * domain are often one machine, or gone together; and one host serves many domains.
 */
const HOSTS = 3;
const WITHIN_MS = 60_000;
/** How long one connection proves that the way is open, and how long the lack of any keeps us from trying. */
const PROVEN_MS = 600_000;
const BLOCKED_MS = 60_000;

export class Reachability {
  readonly #clock: () => number;
  /** By domain the host of it that was given up last, and when, monotonic milliseconds. */
  readonly #silent = new Map<string, { readonly host: string; readonly atMs: number }>();
  #reachedMs = -Infinity;
  #blockedUntilMs = -Infinity;
  #controller = new AbortController();

  /** @param clock monotonic, milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Aborts when it turns out that nothing can be reached: whoever is connecting need not wait. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** What to tell whoever wants to connect; null: let him try. */
  trouble(): SessionFailure | null {
    if (this.#blockedUntilMs <= this.#clock()) return null;
    return new SessionFailure('connect', new SmtpFailure('blocked', 'no mail server can be reached from here: the network seems to block port 25'));
  }

  /** A host took a connection. */
  reached(): void {
    this.#reachedMs = this.#clock();
    this.#silent.clear();
  }

  /** A host did not answer at all. @param domain about which it was to be asked. */
  timedOut(host: string, domain: string): void {
    const now = this.#clock();
    if (now - this.#reachedMs < PROVEN_MS) return;
    for (const [name, silent] of this.#silent) if (now - silent.atMs > WITHIN_MS || silent.host === host) this.#silent.delete(name);
    this.#silent.set(domain, { host, atMs: now });
    if (this.#silent.size < HOSTS) return;
    this.#silent.clear();
    this.#blockedUntilMs = now + BLOCKED_MS;
    this.#controller.abort();
    this.#controller = new AbortController();
  }
}
