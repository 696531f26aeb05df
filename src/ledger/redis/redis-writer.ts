import type { RetryingRedis } from '../../redis/retry.ts';
import type { SharedTotals } from '../working-file.ts';
import type { RedisNames } from './redis-keys.ts';
import { KEEP } from './scripts.ts';

/** The most answers of one round trip, and the most characters, except for a longer last answer. */
const SENT_AT_ONCE = 256;
const CHARS_AT_ONCE = 1024 * 1024;

interface RedisAnswer {
  readonly digest: string;
  readonly value: string;
}

/** The end of a group of answers, with the run's totals and spending at that point. */
interface WriteMark {
  readonly totals: SharedTotals;
  /** Empty where it is unknown. */
  readonly spent: string;
}

interface WriterOptions {
  readonly redis: RetryingRedis;
  readonly names: RedisNames;
  readonly job: string;
  readonly run: string;
  readonly failed: (error: unknown) => void;
}

/** Sends answers to Redis as they come, in order, each with the run's totals and spending up to it, and reports when they are there. */
export class AnswerWriter {
  readonly #options: WriterOptions;
  #unsent: (RedisAnswer | WriteMark)[] = [];
  #put = 0;
  #there = 0;
  #writing = false;
  #failure: { readonly error: unknown } | null = null;
  #waiting: { readonly upTo: number; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  put(kept: readonly RedisAnswer[], totals: SharedTotals, spent: string): void {
    this.#unsent.push(...kept, { totals, spent });
    this.#put += kept.length + 1;
    if (this.#writing || this.#failure !== null) return;
    this.#writing = true;
    // Together with everything that is put in this turn.
    queueMicrotask(() => void this.#writeAll());
  }

  /** Resolves when all answers are in Redis. @throws StorageError */
  written(): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure.error);
    if (this.#there >= this.#put) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiting.push({ upTo: this.#put, resolve, reject }));
  }

  /** Never throws. */
  async #writeAll(): Promise<void> {
    try {
      while (this.#unsent.length > 0) await this.#writeSome();
    } catch (error) {
      this.#failure = { error };
      for (const { reject } of this.#waiting) reject(error);
      this.#waiting = [];
      this.#options.failed(error);
    }
    this.#writing = false;
  }

  async #writeSome(): Promise<void> {
    const some = this.#take();
    const { redis, names, job, run } = this.#options;
    const kept = some.filter((one): one is RedisAnswer => 'value' in one);
    const { totals, spent = '' } = some.findLast((one): one is WriteMark => 'totals' in one) ?? {};
    const keys = [names.run(run), ...kept.flatMap(({ digest }) => [names.answer(digest), names.claim(digest)])];
    const numbers = totals === undefined ? ['', '', ''] : [totals.lookups, totals.reused, totals.lastAt];
    await redis.ask((client) => client.eval(KEEP, keys.length, ...keys, run, job, ...numbers, spent, ...kept.map(({ value }) => value)));
    this.#there += some.length;
    const sent = this.#waiting.filter(({ upTo }) => upTo <= this.#there);
    this.#waiting = this.#waiting.filter(({ upTo }) => upTo > this.#there);
    for (const { resolve } of sent) resolve();
  }

  #take(): (RedisAnswer | WriteMark)[] {
    let chars = 0;
    let end = 0;
    for (; end < Math.min(SENT_AT_ONCE, this.#unsent.length) && chars < CHARS_AT_ONCE; end++) {
      const one = this.#unsent[end];
      chars += one !== undefined && 'value' in one ? one.value.length : 0;
    }
    return this.#unsent.splice(0, end);
  }
}
