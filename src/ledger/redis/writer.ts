import type { PatientRedis } from '../../redis/patient.ts';
import type { SharedTotals } from '../working-file.ts';
import type { RedisNames } from './answers.ts';
import { KEEP } from './scripts.ts';

/** Of one round trip: no more answers, and no more characters but for the last answer's. */
const SENT_AT_ONCE = 256;
const CHARS_AT_ONCE = 1024 * 1024;

export interface Kept { readonly digest: string; readonly value: string }

/** The end of what was put together; `totals`: the run's, with it. */
interface Mark { readonly totals: SharedTotals }

export interface WriterOptions {
  readonly redis: PatientRedis;
  readonly names: RedisNames;
  readonly job: string;
  readonly run: string;
  readonly failed: (error: unknown) => void;
}

/** Brings answers to Redis as they come, in order, each with the run's totals up to it, and says when they are there. */
export class AnswerWriter {
  readonly #options: WriterOptions;
  #unsent: (Kept | Mark)[] = [];
  #put = 0;
  #there = 0;
  #writing = false;
  #failure: { readonly error: unknown } | null = null;
  #waiting: { readonly upTo: number; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
  }

  put(kept: readonly Kept[], totals: SharedTotals): void {
    this.#unsent.push(...kept, { totals });
    this.#put += kept.length + 1;
    if (this.#writing || this.#failure !== null) return;
    this.#writing = true;
    // Together with all that is put in this turn.
    queueMicrotask(() => void this.#writeAll());
  }

  /** Resolves when all that was put is there. @throws StorageError */
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
    const kept = some.filter((one): one is Kept => 'value' in one);
    const totals = some.findLast((one): one is Mark => 'totals' in one)?.totals;
    const keys = [names.run(run), ...kept.flatMap(({ digest }) => [names.answer(digest), names.claim(digest)])];
    const numbers = totals === undefined ? ['', '', ''] : [totals.lookups, totals.reused, totals.lastAt];
    await redis.ask((client) => client.eval(KEEP, keys.length, ...keys, run, job, ...numbers, ...kept.map(({ value }) => value)));
    this.#there += some.length;
    const told = this.#waiting.filter(({ upTo }) => upTo <= this.#there);
    this.#waiting = this.#waiting.filter(({ upTo }) => upTo > this.#there);
    for (const { resolve } of told) resolve();
  }

  #take(): (Kept | Mark)[] {
    let chars = 0;
    let end = 0;
    for (; end < Math.min(SENT_AT_ONCE, this.#unsent.length) && chars < CHARS_AT_ONCE; end++) {
      const one = this.#unsent[end];
      chars += one !== undefined && 'value' in one ? one.value.length : 0;
    }
    return this.#unsent.splice(0, end);
  }
}
