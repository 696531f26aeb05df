/** Commands that are asked again until Redis answers, for a bounded time: the one place that retries them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { waits } from '../waits.ts';
import { RedisConnection, type RedisCommands } from './connection.ts';
import { mayPass, redisError } from './failure.ts';

export interface RedisPatience {
  /** How long Redis may be away before it is given up, milliseconds. Asked at each failure: whoever stops has less of it. */
  readonly maxOutageMs: () => number;
  /** Told once for each outage, and once that it is over. */
  readonly wentDown: (said: string) => void;
  readonly cameBack: (afterMs: number) => void;
  readonly signal: AbortSignal | undefined;
}

const BASE_MS = 50;
const CAP_MS = 1_000;
/** A command that fails for less long than this is not worth a word. */
const TOLD_AFTER_MS = 1_000;

/** One server or cluster, whose outages all commands share. */
export class PatientRedis {
  readonly #connection: RedisConnection;
  readonly #rights: string;
  readonly #patience: RedisPatience;
  /** Monotonic milliseconds; null: it answers. */
  #downSince: number | null = null;
  #told = false;
  #answered = false;

  /** @param rights what an ACL must allow, for the message when it does not. @throws ConfigError when the URI is none */
  constructor(uri: string, rights: string, patience: RedisPatience) {
    this.#connection = new RedisConnection(uri);
    this.#rights = rights;
    this.#patience = patience;
  }

  /** The client if commands can be sent now, else null. */
  get commands(): RedisCommands | null {
    return this.#connection.commands;
  }

  /** The masters, each of which has a part of the keys: their number is known after the first `ask`. */
  get masters(): readonly RedisCommands[] {
    return this.#connection.masters;
  }

  /**
   * Does `work` until it succeeds, for as long as what fails may pass; work that was done twice must mean the same as once.
   * @throws MillraceError 74 after an outage that is too long, 77 without the right password, 78 for what waiting does not mend;
   * the signal's reason when it is aborted
   */
  async ask<T>(work: (client: RedisCommands) => Promise<T>): Promise<T> {
    let leave: (() => void) | null = null;
    try {
      for (let failures = 0; ; failures++) {
        this.#patience.signal?.throwIfAborted();
        try {
          const done = await this.#connection.use(work, CAP_MS);
          this.#isBack();
          return done;
        } catch (error) {
          this.#failed(error);
        }
        leave ??= waits.enter({ reason: 'redis', what: 'Redis, which failed and is asked again', untilMs: null });
        await sleep(Math.random() * Math.min(CAP_MS, BASE_MS * 2 ** Math.min(failures, 10)), undefined, { signal: this.#patience.signal }).catch(() => undefined);
      }
    } finally {
      leave?.();
    }
  }

  /** Does not wait for commands that are under way. */
  close(): void {
    this.#connection.close();
  }

  #failed(cause: unknown): void {
    const now = performance.now();
    this.#downSince ??= now;
    const downMs = now - this.#downSince;
    if (!mayPass(cause) || downMs >= this.#patience.maxOutageMs()) throw redisError(cause, { uri: this.#connection.uri, waitedMs: downMs, answered: this.#answered, rights: this.#rights });
    if (this.#told || downMs < TOLD_AFTER_MS) return;
    this.#told = true;
    this.#patience.wentDown(cause instanceof Error ? cause.message : String(cause));
  }

  #isBack(): void {
    this.#answered = true;
    if (this.#downSince === null) return;
    if (this.#told) this.#patience.cameBack(performance.now() - this.#downSince);
    this.#downSince = null;
    this.#told = false;
  }
}
