import type { PatientRedis } from '../../redis/patient.ts';
import type { LedgerAnswer } from '../answer.ts';
import type { SharedAnswer } from '../options.ts';
import type { Told } from '../run-ledger.ts';
import { unpackAnswer, type RedisNames } from './answers.ts';
import { CLAIM } from './scripts.ts';

/** Lookups in one round trip, and so many may be on their way to Redis before the reader waits. */
export const ASKED_AT_ONCE = 64;
/** Of those that wait for others, more are looked at in one. */
const LOOKED_AT_ONCE = 512;
/** Those that wait are looked at so often. */
const LOOK_EVERY_MS = 200;
/** What a dead execution has left is swept away by Redis itself; no run asks for one lookup for so long. */
const CLAIM_MS = 7 * 86_400_000;

export interface Ask {
  readonly scope: number;
  readonly named: SharedAnswer['scope'];
  readonly key: string;
  readonly digest: string;
  readonly told: Told;
}

interface Waiting extends Ask {
  /** What Redis has, and this run may not use. */
  known: string;
}

export interface ClaimsOptions {
  readonly redis: PatientRedis;
  readonly names: RedisNames;
  /** Who claims. */
  readonly holder: string;
  /** See `RunLedgerOptions.keySeed`. */
  readonly keySeed: string;
  /** The answer, if this run may use it; from then on it is known here. */
  readonly adopt: (ask: Ask, found: SharedAnswer) => LedgerAnswer | null;
  readonly moved: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Who asks: each lookup is claimed before it is called for, in one round trip with the question whether it is answered.
 * What somebody alive has claimed waits for the answer, or for the claim.
 */
export class Claims {
  readonly #options: ClaimsOptions;
  #asked: Waiting[] = [];
  #waiting: Waiting[] = [];
  /** Claimed and not answered. */
  readonly #own = new Set<string>();
  #onTheWay = 0;
  #asking = false;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;
  #room: (() => void)[] = [];

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  /** Lookups that others are asking for. */
  get waiting(): number {
    return this.#waiting.length;
  }

  ask(ask: Ask): void {
    this.#asked.push({ ...ask, known: '' });
    if (this.#asking) return;
    this.#asking = true;
    // Together with all that the reader starts now.
    queueMicrotask(() => void this.#askAll());
  }

  room(): Promise<void> | null {
    if (this.#closed || this.#asked.length + this.#onTheWay < ASKED_AT_ONCE) return null;
    return new Promise((resolve) => this.#room.push(resolve));
  }

  /** It was answered: others find it there. */
  answered(digest: string): void {
    this.#own.delete(digest);
  }

  /** The lease had ended: claims anew what nobody has taken over. */
  async claimAgain(): Promise<void> {
    const digests = [...this.#own];
    for (let from = 0; from < digests.length; from += LOOKED_AT_ONCE) {
      const some = digests.slice(from, from + LOOKED_AT_ONCE).map((digest) => ({ digest, known: '' }));
      await this.#claim(some, some.length);
    }
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#makeRoom();
  }

  async #askAll(): Promise<void> {
    while (this.#asked.length > 0 && !this.#closed) {
      const some = this.#asked.splice(0, ASKED_AT_ONCE);
      this.#onTheWay = some.length;
      await this.#round(some, some.length, (ask) => this.#asked.unshift(ask));
      this.#onTheWay = 0;
      this.#makeRoom();
    }
    this.#asking = false;
  }

  /** One round trip. What may not be used is asked again, with word of it. Never throws. */
  async #round(some: readonly Waiting[], most: number, again: (ask: Waiting) => void): Promise<void> {
    try {
      const replies = await this.#claim(some, most);
      if (this.#closed) return;
      for (const [i, ask] of some.entries()) this.#hear(ask, replies[i], again);
      this.#options.moved();
      this.#lookLater();
    } catch (error) {
      if (!this.#closed) this.#options.failed(error);
      this.close();
    }
  }

  #claim(some: readonly Pick<Waiting, 'digest' | 'known'>[], most: number): Promise<unknown[]> {
    const { redis, names, holder, keySeed } = this.#options;
    const keys = some.flatMap(({ digest }) => [names.answer(digest), names.claim(digest)]);
    return redis.ask(async (client) => (await client.eval(CLAIM, keys.length, ...keys, holder, names.holders, CLAIM_MS, most, keySeed, ...some.map(({ known }) => known))) as unknown[]);
  }

  #hear(ask: Waiting, reply: unknown, again: (ask: Waiting) => void): void {
    if (typeof reply === 'string') {
      const found = unpackAnswer(reply);
      const answer = found === null ? null : this.#options.adopt(ask, found);
      if (answer !== null) {
        ask.told(answer);
        return;
      }
      again({ ...ask, known: reply });
    } else if (reply === 1 || Array.isArray(reply)) {
      this.#own.add(ask.digest);
      ask.told(null, reply === 1 ? null : String(reply[0]));
    } else {
      this.#waiting.push(ask);
    }
  }

  #lookLater(): void {
    if (this.#closed || this.#timer !== null || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** Looks at all that waits; takes over a few of what a dead execution has left, so that others get their share. */
  async #look(): Promise<void> {
    const all = this.#waiting;
    this.#waiting = [];
    let left = ASKED_AT_ONCE;
    for (let from = 0; from < all.length && !this.#closed; from += LOOKED_AT_ONCE) {
      const some = all.slice(from, from + LOOKED_AT_ONCE);
      const before = this.#own.size;
      await this.#round(some, left, (ask) => this.#waiting.push(ask));
      left = Math.max(0, left - (this.#own.size - before));
    }
    this.#timer = null;
    this.#lookLater();
  }

  #makeRoom(): void {
    const waiting = this.#room;
    this.#room = [];
    for (const resolve of waiting) resolve();
  }
}
