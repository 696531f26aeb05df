import type { PatientRedis } from '../../redis/patient.ts';
import { BEAT } from './scripts.ts';

/** Whoever has not been heard of for so long has let go of what it was asking for. */
const LEASE_MS = 30_000;
const BEAT_EVERY_MS = 10_000;
/** Nothing is sent so shortly before the lease ends. */
const MARGIN_MS = 5_000;

/**
 * This run, as others see it: all its claims live as long as it is heard of. One that was killed and started again holds
 * them at once, because only one execution of a run goes on at a time.
 */
export class Holder {
  readonly #key: string;
  readonly #redis: PatientRedis;
  /** The lease had ended: others may have taken over what this run had claimed. */
  readonly #onLapsed: () => Promise<void>;
  readonly #onFailed: (error: unknown) => void;
  #validUntil = -Infinity;
  #beating: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;

  /** @param key by which others see that this run is alive */
  constructor(redis: PatientRedis, key: string, onLapsed: () => Promise<void>, onFailed: (error: unknown) => void) {
    this.#redis = redis;
    this.#key = key;
    this.#onLapsed = onLapsed;
    this.#onFailed = onFailed;
  }

  /** From now on it is heard of. @throws StorageError */
  async start(): Promise<void> {
    await this.#beatOnce(true);
    this.#timer = setInterval(() => void this.#beat().catch(() => undefined), BEAT_EVERY_MS);
    this.#timer.unref();
  }

  /** True: its claims hold. A promise: of that, after a pause. @throws by it, StorageError */
  holds(): true | Promise<void> {
    return performance.now() < this.#validUntil - MARGIN_MS ? true : this.#beat();
  }

  /** Not heard of any more, by itself. */
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
      return client.eval(BEAT, 1, this.#key, LEASE_MS);
    });
    if (there !== 1 && !first) await this.#onLapsed();
    this.#validUntil = sentAt + LEASE_MS;
  }
}
