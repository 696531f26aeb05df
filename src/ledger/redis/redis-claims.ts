import type { RetryingRedis } from '../../redis/retry.ts';
import { isFit, ticketNoteOf, type LedgerAnswer } from '../answer.ts';
import type { SharedAnswer } from '../options.ts';
import type { LookupListener } from '../run-ledger.ts';
import { digestOf, noteIn, packAnswer, unpackAnswer, type RedisNames } from './redis-keys.ts';
import { CLAIM, LEAVE, PROMISE } from './scripts.ts';

/** Lookups in one round trip, and lookups on their way to Redis before the reader waits. */
export const ASKED_AT_ONCE = 64;
/** Waiting lookups that are checked in one round trip. */
const LOOKED_AT_ONCE = 512;
/** The interval of these checks. */
const LOOK_EVERY_MS = 200;
/** Redis drops the claims of a dead execution after this time. No run asks for one lookup for this long. */
export const CLAIM_MS = 7 * 86_400_000;

interface RedisAsk {
  readonly scope: number;
  readonly named: SharedAnswer['scope'];
  readonly key: string;
  readonly digest: string;
  /** See `RunLedger.ask`. */
  readonly unfit: string | null;
  readonly onAnswer: LookupListener;
}

interface Waiting extends RedisAsk {
  /** An answer in Redis that this run may not use. */
  known: string;
}

interface ClaimsOptions {
  readonly redis: RetryingRedis;
  readonly names: RedisNames;
  /** The holder of the claims. */
  readonly holder: string;
  /** See `RunLedgerOptions.keySeed`. */
  readonly keySeed: string;
  /** Returns the answer if this run may use it, and stores it here. */
  readonly adopt: (ask: RedisAsk, found: SharedAnswer) => LedgerAnswer | null;
  readonly moved: () => void;
  readonly failed: (error: unknown) => void;
}

/**
 * Decides which run asks for a lookup. Each lookup is claimed before it is sent, in one round trip with the question whether it is
 * answered. A lookup that a living run has claimed waits for the answer, or for the claim.
 */
export class RedisClaims {
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

  ask(ask: RedisAsk): void {
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

  /** The lookup is answered in Redis. */
  answered(digest: string): void {
    this.#own.delete(digest);
  }

  /** A provider has promised the answer of a lookup. Resolves when the claim says so, and for which lookup. @throws StorageError */
  async promise(open: SharedAnswer): Promise<void> {
    const { redis, names, holder } = this.#options;
    const digest = digestOf(open.scope, open.key);
    const claim = names.claim(digest);
    this.#own.add(digest);
    await redis.ask((client) => client.eval(PROMISE, 1, claim, holder, CLAIM_MS, packAnswer(open)));
  }

  /** Leaves lookups without an answer to other runs. An outage leaves the claims as they are, and the run hears of it by other calls. */
  async release(digests: readonly string[]): Promise<void> {
    const { redis, names, holder } = this.#options;
    const own = digests.filter((digest) => this.#own.delete(digest));
    for (let from = 0; from < own.length && !this.#closed; from += LOOKED_AT_ONCE) {
      const claims = own.slice(from, from + LOOKED_AT_ONCE).map((digest) => names.claim(digest));
      await redis.ask((client) => client.eval(LEAVE, claims.length, ...claims, holder, CLAIM_MS)).catch(() => undefined);
    }
  }

  /** Claims again, after the lease had ended, what no other run has taken over. */
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

  /** One round trip. A lookup whose answer this run may not use is asked again, with that answer. Never throws. */
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
    return redis.ask(
      async (client) =>
        (await client.eval(
          CLAIM,
          keys.length,
          ...keys,
          holder,
          names.holders,
          CLAIM_MS,
          most,
          keySeed,
          ...some.map(({ known }) => known),
        )) as unknown[],
    );
  }

  #hear(ask: Waiting, reply: unknown, again: (ask: Waiting) => void): void {
    if (typeof reply === 'string') {
      const found = unpackAnswer(reply);
      const answer = found === null || !isFit(found.answer, ask.unfit) ? null : this.#options.adopt(ask, found);
      if (answer !== null) {
        ask.onAnswer(answer);
        return;
      }
      again({ ...ask, known: reply });
    } else if (reply === 1 || Array.isArray(reply)) {
      this.#own.add(ask.digest);
      const [seed, note = ''] = reply === 1 ? [] : reply.map(String);
      ask.onAnswer(null, seed === this.#options.keySeed ? null : (seed ?? null), note === '' ? ticketIn(ask.known) : noteIn(note));
    } else {
      this.#waiting.push(ask);
    }
  }

  #lookLater(): void {
    if (this.#closed || this.#timer !== null || this.#waiting.length === 0) return;
    this.#timer = setTimeout(() => void this.#look(), LOOK_EVERY_MS);
  }

  /** Checks all waiting lookups. It takes over only a few claims of a dead execution at once, so that other runs get their share. */
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

/** The note with a ticket in an answer that this run may not use: polls for it have failed, and the promise is open. */
function ticketIn(known: string): string | null {
  const found = known === '' ? null : unpackAnswer(known);
  return found === null ? null : ticketNoteOf(found.answer);
}
