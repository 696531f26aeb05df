/** Commands that are asked again until Redis answers, for a bounded time: the one place that retries them. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from './client.ts';
import { waits } from '../waits.ts';
import { redisError, redisFaultOf } from './failure.ts';

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

/** One server, whose outages all commands share. */
export class PatientRedis {
  readonly client: Redis;
  readonly #uri: string;
  readonly #patience: RedisPatience;
  /** Monotonic milliseconds; null: it answers. */
  #downSince: number | null = null;
  #told = false;
  /** What the connection itself said last: a refused password is told to nobody else. */
  #connectionError: unknown = null;

  constructor(client: Redis, uri: string, patience: RedisPatience) {
    this.client = client;
    this.#uri = uri;
    this.#patience = patience;
    client.on('error', (error: unknown) => {
      this.#connectionError = error;
    });
  }

  /**
   * Does `work` until it succeeds, for as long as what fails may pass; work that was done twice must mean the same as once.
   * @throws MillraceError 74 after an outage that is too long, 77 without the right password; the signal's reason when it is aborted
   */
  async ask<T>(work: (client: Redis) => Promise<T>): Promise<T> {
    let leave: (() => void) | null = null;
    try {
      for (let failures = 0; ; failures++) {
        this.#patience.signal?.throwIfAborted();
        try {
          if (this.client.status !== 'ready') await this.#connected();
          const done = await work(this.client);
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
    this.client.disconnect();
  }

  /** Resolves when there is a connection. @throws what keeps it from being made */
  async #connected(): Promise<void> {
    const turn = new AbortController();
    const ready = new Promise<void>((resolve) => {
      this.client.once('ready', resolve);
      turn.signal.addEventListener('abort', () => this.client.off('ready', resolve));
    });
    await Promise.race([ready, sleep(CAP_MS, undefined, { signal: turn.signal, ref: true }).catch(() => undefined)]);
    turn.abort();
    if (this.client.status !== 'ready') throw this.#connectionError ?? new Error('no connection');
  }

  #failed(error: unknown): void {
    // What the connection met says more than that there is none.
    const cause = redisFaultOf(error) === 'passing' && redisFaultOf(this.#connectionError ?? error) !== 'passing' ? this.#connectionError : error;
    // An answer that does not come may never come on this connection.
    if (error instanceof Error && error.message === 'Command timed out') this.client.disconnect(true);
    const now = performance.now();
    this.#downSince ??= now;
    const downMs = now - this.#downSince;
    if (redisFaultOf(cause) !== 'passing' || downMs >= this.#patience.maxOutageMs()) throw redisError(cause, this.#uri, downMs);
    if (this.#told || downMs < TOLD_AFTER_MS) return;
    this.#told = true;
    this.#patience.wentDown(cause instanceof Error ? cause.message : String(cause));
  }

  #isBack(): void {
    this.#connectionError = null;
    if (this.#downSince === null) return;
    if (this.#told) this.#patience.cameBack(performance.now() - this.#downSince);
    this.#downSince = null;
    this.#told = false;
  }
}
