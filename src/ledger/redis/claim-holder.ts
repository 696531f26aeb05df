import type { RetryingRedis } from '../../redis/retry.ts';
import { BEAT } from './scripts.ts';

/** A holder that is silent for this long has released its claims. */
const HOLDER_LEASE_MS = 30_000;
const BEAT_EVERY_MS = 10_000;
/** No call is sent this shortly before the lease ends. */
const MARGIN_MS = 5_000;

/**
 * This run as the holder of its claims: they live as long as its key in Redis. A killed run that starts again holds them at once, because
 * only one execution of a run goes on at a time.
 */
export class ClaimHolder {
  readonly #key: string;
  readonly #redis: RetryingRedis;
  /** Called when the lease had ended: other runs may have taken over claims. */
  readonly #onLapsed: () => Promise<void>;
  readonly #onFailed: (error: unknown) => void;
  #validUntil = -Infinity;
  #beating: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param key whose existence shows other runs that this one is alive */
  constructor(redis: RetryingRedis, key: string, onLapsed: () => Promise<void>, onFailed: (error: unknown) => void) {
    this.#redis = redis;
    this.#key = key;
    this.#onLapsed = onLapsed;
    this.#onFailed = onFailed;
  }

  /** Writes the key, and renews it from now on. @throws StorageError */
  async start(): Promise<void> {
    await this.#beatOnce(true);
    this.#timer = setInterval(() => void this.#beat().catch(() => undefined), BEAT_EVERY_MS);
    this.#timer.unref();
  }

  /** true while the claims hold; after a pause, a promise of that, which rejects with StorageError. */
  holds(): true | Promise<void> {
    return performance.now() < this.#validUntil - MARGIN_MS ? true : this.#beat();
  }

  /** Renews the key no longer. */
  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #beat(): Promise<void> {
    this.#beating ??= this.#beatOnce(false)
      .catch((error: unknown) => {
        this.#onFailed(error);
        throw error;
      })
      .finally(() => {
        this.#beating = null;
      });
    return this.#beating;
  }

  async #beatOnce(first: boolean): Promise<void> {
    let sentAt = 0;
    const there = await this.#redis.ask((client) => {
      sentAt = performance.now();
      return client.eval(BEAT, 1, this.#key, HOLDER_LEASE_MS);
    });
    if (there !== 1 && !first) await this.#onLapsed();
    this.#validUntil = sentAt + HOLDER_LEASE_MS;
  }
}
