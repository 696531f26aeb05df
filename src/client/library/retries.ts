/** Decides whether and when a failed call is repeated (clients/BEHAVIOUR.md). Pure: chance is an argument. */
import type { DataServiceError } from '../data-service-error.ts';

const MAX_PAUSE_MS = 8_000;
const MAX_RETRY_AFTER_MS = 60_000;
const MAX_RATE_LIMIT_WAIT_MS = 15 * 60_000;
/** Share of a Retry-After that is added at random, so that clients do not come back all at once. */
const RETRY_AFTER_SPREAD = 0.1;

export interface RetryOptions {
  /** Attempts of one call, the first included. */
  readonly maxAttempts: number;
  /** Upper bound of the first pause. */
  readonly retryDelayMs: number;
  /** A 429 costs no attempt, and is waited for up to 15 minutes a call. */
  readonly waitForRateLimit: boolean;
}

/** The attempts of one call. */
export class Retries {
  /** All attempts so far. */
  sent = 0;
  readonly #options: RetryOptions;
  readonly #random: () => number;
  #attempts = 0;
  #waitedMs = 0;

  /** @param random a number in [0, 1) */
  constructor(options: RetryOptions, random: () => number) {
    this.#options = options;
    this.#random = random;
  }

  /** Begins anew: a stream has brought something. */
  restart(): void {
    this.#attempts = 0;
    this.#waitedMs = 0;
  }

  /** Milliseconds until the next attempt. @throws the error itself when there is none */
  pauseAfter(error: DataServiceError): number {
    error.attempts = ++this.sent;
    const { maxAttempts, waitForRateLimit } = this.#options;
    const asked = error.retryAfterMs ?? 0;
    if (!error.retryable) throw error;
    if (waitForRateLimit && error.status === 429) {
      const pause = this.#pause(asked, this.#attempts);
      this.#waitedMs += pause;
      if (this.#waitedMs > MAX_RATE_LIMIT_WAIT_MS) throw error;
      return pause;
    }
    this.#attempts++;
    if (this.#attempts >= maxAttempts || asked > MAX_RETRY_AFTER_MS) throw error;
    return this.#pause(asked, this.#attempts - 1);
  }

  /** Full jitter (AWS Architecture Blog, "Exponential Backoff And Jitter"), but at least as long as the service asked. */
  #pause(askedMs: number, doublings: number): number {
    const jitter = this.#random();
    return Math.max(
      jitter * Math.min(MAX_PAUSE_MS, this.#options.retryDelayMs * 2 ** doublings),
      askedMs * (1 + jitter * RETRY_AFTER_SPREAD),
    );
  }
}
