/** Retries commands until Redis answers, for a bounded time. No other place retries them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { runScope } from '../util/run-scope.ts';
import { RedisConnection, type RedisCommands } from './connection.ts';
import { mayPass, redisError } from './failure.ts';

interface RedisRetryPolicy {
  /** Milliseconds that an outage may last. Read at each failure, because a stopping run has less time. */
  readonly maxOutageMs: () => number;
  /** Called once for each outage, and once at its end. */
  readonly wentDown: (said: string) => void;
  readonly cameBack: (afterMs: number) => void;
  readonly signal: AbortSignal | undefined;
}

const BASE_MS = 50;
const CAP_MS = 1_000;
/** Shorter outages are not reported. Milliseconds. */
const TOLD_AFTER_MS = 1_000;

/** One server or cluster, whose outages all commands share. */
export class RetryingRedis {
  readonly #connection: RedisConnection;
  readonly #rights: string;
  readonly #retryPolicy: RedisRetryPolicy;
  /** Start of the outage, monotonic milliseconds. Null while Redis answers. */
  #downSince: number | null = null;
  #told = false;
  #answered = false;

  /** @param rights ACL rights that the commands need, for the error message. @throws ConfigError when the text is not a Redis URI */
  constructor(uri: string, rights: string, retryPolicy: RedisRetryPolicy) {
    this.#connection = new RedisConnection(uri);
    this.#rights = rights;
    this.#retryPolicy = retryPolicy;
  }

  /** The client when commands can be sent now, else null. */
  get commands(): RedisCommands | null {
    return this.#connection.commands;
  }

  /** The masters. Each holds a part of the keys. Their number is known after the first `ask`. */
  get masters(): readonly RedisCommands[] {
    return this.#connection.masters;
  }

  /**
   * Repeats `work` until it succeeds, as long as its failure may be temporary. The work must be idempotent.
   * @throws MillraceError 74 after an outage that is too long, 77 without the right password, 78 for a fault that waiting does not fix; the
   * signal's reason when it is aborted
   */
  async ask<T>(work: (client: RedisCommands) => Promise<T>): Promise<T> {
    let leave: (() => void) | null = null;
    try {
      for (let failures = 0; ; failures++) {
        this.#retryPolicy.signal?.throwIfAborted();
        try {
          const done = await this.#connection.use(work, CAP_MS);
          this.#isBack();
          return done;
        } catch (error) {
          this.#failed(error);
        }
        leave ??= runScope().waits.enter({ reason: 'redis', what: 'Redis, which failed and is asked again', untilMs: null });
        await sleep(Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(failures, 10)), undefined, {
          signal: this.#retryPolicy.signal,
        }).catch(() => undefined);
      }
    } finally {
      leave?.();
    }
  }

  /** Does not wait for commands under way. */
  close(): void {
    this.#connection.close();
  }

  #failed(cause: unknown): void {
    const now = performance.now();
    this.#downSince ??= now;
    const downMs = now - this.#downSince;
    if (!mayPass(cause) || downMs >= this.#retryPolicy.maxOutageMs())
      throw redisError(cause, { uri: this.#connection.uri, waitedMs: downMs, answered: this.#answered, rights: this.#rights });
    if (this.#told || downMs < TOLD_AFTER_MS) return;
    this.#told = true;
    this.#retryPolicy.wentDown(cause instanceof Error ? cause.message : String(cause));
  }

  #isBack(): void {
    this.#answered = true;
    if (this.#downSince === null) return;
    if (this.#told) this.#retryPolicy.cameBack(performance.now() - this.#downSince);
    this.#downSince = null;
    this.#told = false;
  }
}
