/**
 * Durable quota: the token buckets of all keys, across restarts. Memory has the exact level; the store has a lower bound of it. A new bound
 * is written only before the level sinks below the old one. So after a crash a key has lost its reserve, and never gained a token.
 */
import { decisionOf, fullBucket, owe, returnTokens, refill, take, type Bucket, type QuotaDecision } from './token-bucket.ts';
import type { KeyWrites } from './key-writes.ts';
import type { Store } from '../store/store.ts';

/** The reserve that one write sets aside: the requests of this time, milliseconds. */
const RESERVE_MS = 2_000;
const MINUTE_MS = 60_000;

interface Kept {
  bucket: Bucket;
  /** The lower bound in the store, or on its way there. */
  floor: Bucket;
  rpm: number;
}

export class DurableQuota {
  readonly #select;
  readonly #writes: KeyWrites;
  readonly #clock: () => number;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Kept>();

  /** @param clock monotonic, milliseconds @param now epoch milliseconds */
  constructor(store: Store, writes: KeyWrites, clock: () => number, now: () => number) {
    this.#select = store.books.prepare('SELECT tokens, tokens_at FROM keys WHERE id = ?');
    this.#writes = writes;
    this.#clock = clock;
    this.#now = now;
  }

  /** Takes tokens from the key's bucket: all, or none when it holds fewer. @param nowMs by the monotonic clock, as in all calls */
  take(keyId: string, rpm: number, nowMs: number, count = 1): QuotaDecision {
    const kept = this.#find(keyId, rpm, nowMs);
    const { bucket, decision } = take(kept.bucket, rpm, nowMs, count);
    kept.bucket = bucket;
    if (decision.allowed) this.#lowerIfNeeded(keyId, kept, nowMs);
    return decision;
  }

  /** Takes tokens of work that is done: the bucket may sink below zero. */
  owe(keyId: string, rpm: number, nowMs: number, count: number): QuotaDecision {
    const kept = this.#find(keyId, rpm, nowMs);
    kept.bucket = owe(kept.bucket, rpm, nowMs, count);
    this.#lowerIfNeeded(keyId, kept, nowMs);
    return decisionOf(kept.bucket, rpm, true);
  }

  /** Returns tokens of a refused request, and describes the bucket after that. */
  giveBack(keyId: string, rpm: number, nowMs: number, count: number): QuotaDecision {
    const kept = this.#find(keyId, rpm, nowMs);
    // The bound in the store is lower than it has to be, which is safe.
    kept.bucket = returnTokens(kept.bucket, rpm, nowMs, count);
    return decisionOf(kept.bucket, rpm, true);
  }

  /** Describes the bucket without taking a token. */
  peek(keyId: string, rpm: number, nowMs: number): QuotaDecision {
    return decisionOf(refill(this.#find(keyId, rpm, nowMs).bucket, rpm, nowMs), rpm, true);
  }

  /** Gives all reserves back, to be written when the service stops. */
  releaseReserves(): void {
    const nowMs = this.#clock();
    for (const [keyId, kept] of this.#buckets) {
      kept.bucket = refill(kept.bucket, kept.rpm, nowMs);
      this.#lower(keyId, kept, 0);
    }
  }

  #lowerIfNeeded(keyId: string, kept: Kept, nowMs: number): void {
    const { bucket, floor, rpm } = kept;
    if (bucket.tokens < refill(floor, rpm, nowMs).tokens) this.#lower(keyId, kept, (rpm * RESERVE_MS) / MINUTE_MS);
  }

  #lower(keyId: string, kept: Kept, reserve: number): void {
    kept.floor = { tokens: kept.bucket.tokens - reserve, atMs: kept.bucket.atMs };
    this.#writes.setBound(keyId, { tokens: kept.floor.tokens, atMs: this.#now() });
  }

  #find(keyId: string, rpm: number, nowMs: number): Kept {
    const known = this.#buckets.get(keyId);
    if (known !== undefined) {
      // The plan of the key may have changed.
      known.rpm = rpm;
      return known;
    }
    const row = this.#select.get(keyId);
    const tokens = row?.['tokens'] as number | null | undefined;
    // A clock that was set back adds nothing.
    const passedMs = Math.max(0, this.#now() - ((row?.['tokens_at'] as number | null | undefined) ?? 0));
    const bucket =
      tokens === null || tokens === undefined ? fullBucket(rpm, nowMs) : refill({ tokens, atMs: nowMs - passedMs }, rpm, nowMs);
    // The store already has this bound; a key that was never used has none, which means a full bucket.
    const found: Kept = { bucket, floor: bucket, rpm };
    this.#buckets.set(keyId, found);
    return found;
  }
}
