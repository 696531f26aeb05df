/**
 * Idempotency keys: the first answer to a request is remembered for 24 hours, so that sending it again is harmless and free.
 * What is remembered lives in the store and is written before it is sent; in memory are only what is in flight and what is being written.
 */
import { hash } from 'node:crypto';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { KeptVerdicts } from './fresh-verdict.ts';
import { erasedSince } from './store/erased-since.ts';
import type { Alone, Journal, Pending } from './store/journal.ts';
import type { Store } from './store/store.ts';

const KEPT_MS = 24 * 3_600_000;
/** Answers longer than this are kept compressed, characters. */
const COMPRESS_FROM = 1_024;
/** How often old answers are thrown away, and how many at least; twice as many as came, so that they never pile up. */
const PURGE_EVERY_MS = 50;
const PURGE_AT_LEAST = 100;

/** The keys of the definitions: at most 255 printable ASCII characters. */
const VALID_KEY = /^[\x20-\x7e]{1,255}$/;

/**
 * An answer as it is remembered. `again`: the first answer was a record of the store, which is not kept twice (a copy would
 * outlive the erasure of the person); the same request reads it again, at no charge. What was asked of mail servers for it is kept, and which of its parts found
 * nothing and were free: they stay without, whatever has become known since. `cut`: there was a secret in it that is kept in one place alone; who answers puts it in again.
 */
export type FirstAnswer =
  | { readonly kind: 'text' | 'cut'; readonly status: number; readonly text: string }
  | { readonly kind: 'again'; readonly status: number; readonly verdicts: KeptVerdicts; readonly missed: readonly number[] };

export type Begun =
  | { readonly kind: 'new'; readonly ticket: Ticket }
  | { readonly kind: 'replay'; readonly answer: FirstAnswer }
  | { readonly kind: 'in_flight' }
  | { readonly kind: 'mismatch' };

/** One request that holds its idempotency key until `finish`. */
export interface Ticket {
  readonly scope: Buffer;
  readonly request: Buffer;
}

interface Waiting {
  readonly ticket: Ticket;
  readonly answer: FirstAnswer;
  readonly atMs: number;
}

export function isIdempotencyKey(key: string): boolean {
  return VALID_KEY.test(key);
}

/** Whether an answer with this status settles the request; otherwise nothing was done, and the same request may be tried again in earnest: after a 402, with new credits. */
export function isSettled(status: number): boolean {
  return status < 500 && status !== 402 && status !== 408 && status !== 409 && status !== 425 && status !== 429;
}

export class Idempotency implements Pending {
  readonly #journal: Journal;
  readonly #now: () => number;
  readonly #inFlight = new Map<string, Buffer>();
  readonly #waiting = new Map<string, Waiting>();
  /** Of those in flight: written with what they have changed. */
  readonly #kept = new Set<string>();
  readonly #select;
  readonly #insert;
  readonly #purge;
  readonly #erased;
  /** Answers whose place in the store is damaged, until whoever waits for them has asked. */
  readonly #lost = new Set<string>();
  #purgedMs = 0;
  /** Old answers can be thrown away: nothing on the way to them is damaged. */
  #canPurge = true;
  /** Since then. */
  #written = 0;

  /** @param now wall clock, epoch milliseconds: what is kept outlives the process. */
  constructor(store: Store, journal: Journal, now: () => number) {
    this.#journal = journal;
    this.#now = now;
    this.#select = store.prepare('SELECT request, status, kind, payload FROM idempotency WHERE scope = ? AND at > ?');
    this.#insert = store.prepare('INSERT OR REPLACE INTO idempotency (scope, request, status, kind, payload, at) VALUES (?, ?, ?, ?, ?, ?)');
    this.#purge = store.prepare('DELETE FROM idempotency WHERE scope IN (SELECT scope FROM idempotency WHERE at <= ? LIMIT ?)');
    this.#erased = erasedSince(store);
    journal.join(this, 'idempotency');
  }

  /** Claims `key` of this API key for a request: the path asked for and the body as it was sent. */
  begin(keyId: string, key: string, path: string, body: Uint8Array): Begun {
    const scope = digest(`${keyId}\n${key}`);
    const request = digest(Buffer.concat([Buffer.from(`${path}\n`), body]));
    const name = scope.toString('latin1');
    const inFlight = this.#inFlight.get(name);
    if (inFlight !== undefined) return { kind: inFlight.equals(request) ? 'in_flight' : 'mismatch' };
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined && !this.#isErased(waiting)) return waiting.ticket.request.equals(request) ? { kind: 'replay', answer: waiting.answer } : { kind: 'mismatch' };
    const row = this.#select.get(scope, this.#now() - KEPT_MS);
    if (row !== undefined) return request.equals(row['request'] as Uint8Array) ? { kind: 'replay', answer: answerOf(row) } : { kind: 'mismatch' };
    this.#inFlight.set(name, request);
    return { kind: 'new', ticket: { scope, request } };
  }

  /** Lets go of the key. `answer` null: it settled nothing, and the next request with the key is a first one. */
  finish(ticket: Ticket, answer: FirstAnswer | null): void {
    const name = ticket.scope.toString('latin1');
    this.#inFlight.delete(name);
    // What was kept with a change may have been undone with it, and another answer given.
    const isKept = this.#kept.delete(name) && this.#select.get(ticket.scope, this.#now() - KEPT_MS) !== undefined;
    if (isKept || answer === null) return;
    this.#waiting.set(name, { ticket, answer, atMs: this.#now() });
    this.#journal.wake();
  }

  /** Writes an answer within the transaction that is open, with what it tells of, so that neither is there without the other. False, and nothing is written: another service has answered a request with this key. */
  write({ scope, request }: Ticket, answer: FirstAnswer): boolean {
    const nowMs = this.#now();
    if (this.#select.get(scope, nowMs - KEPT_MS) !== undefined) return false;
    this.#put({ ticket: { scope, request }, answer, atMs: nowMs });
    this.#kept.add(scope.toString('latin1'));
    return true;
  }

  /** Takes an answer back that is not written yet: it was never sent. */
  forget(ticket: Ticket): void {
    this.#waiting.delete(ticket.scope.toString('latin1'));
  }

  get size(): number {
    return this.#waiting.size;
  }

  flush(): void {
    for (const waiting of this.#waiting.values()) this.#write(waiting);
    if (this.#isPurgeDue()) this.#throwAway();
  }

  flushed(): void {
    this.#written += this.#waiting.size;
    this.#waiting.clear();
    if (!this.#isPurgeDue()) return;
    this.#purgedMs = this.#now();
    this.#written = 0;
  }

  flushApart(alone: Alone): void {
    for (const [name, waiting] of this.#waiting) if (!alone(() => this.#write(waiting))) this.#lost.add(name);
    if (this.#isPurgeDue()) this.#canPurge = alone(() => this.#throwAway());
    this.flushed();
  }

  /** Whether an answer could not be kept, for its place in the store is damaged. To be asked once, before it is sent. */
  isLost({ scope }: Ticket): boolean {
    return this.#lost.delete(scope.toString('latin1'));
  }

  #write(waiting: Waiting): void {
    if (!this.#isErased(waiting)) this.#put(waiting);
  }

  #throwAway(): void {
    this.#purge.run(this.#now() - KEPT_MS, PURGE_AT_LEAST + 2 * (this.#written + this.#waiting.size));
  }

  #put({ ticket, answer, atMs }: Waiting): void {
    const { kind, payload } = encode(answer);
    this.#insert.run(ticket.scope, ticket.request, answer.status, kind, payload, atMs);
  }

  /** It names somebody who was erased since it was given. */
  #isErased({ answer, atMs }: Waiting): boolean {
    return answer.kind !== 'again' && this.#erased.anybody(atMs) && this.#erased.text(answer.text, atMs);
  }

  #isPurgeDue(): boolean {
    return this.#canPurge && Math.abs(this.#now() - this.#purgedMs) >= PURGE_EVERY_MS;
  }
}

/** Half a SHA-256: nobody finds two requests that share it, and rows stay small. */
function digest(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer').subarray(0, 16);
}

function encode(answer: FirstAnswer): { kind: 'again' | 'text' | 'zstd' | 'cut'; payload: Uint8Array } {
  if (answer.kind === 'again') {
    const { verdicts, missed } = answer;
    return { kind: 'again', payload: Object.keys(verdicts).length + missed.length === 0 ? new Uint8Array() : Buffer.from(JSON.stringify([verdicts, missed])) };
  }
  const bytes = Buffer.from(answer.text);
  if (answer.kind === 'cut') return { kind: 'cut', payload: zstdCompressSync(bytes) };
  return answer.text.length < COMPRESS_FROM ? { kind: 'text', payload: bytes } : { kind: 'zstd', payload: zstdCompressSync(bytes) };
}

/** An answer as it is kept: `status`, `kind` and `payload` of its row. */
export function answerOf(row: Record<string, unknown>): FirstAnswer {
  const status = row['status'] as number;
  const payload = row['payload'] as Uint8Array;
  if (row['kind'] === 'again') {
    const kept = payload.length === 0 ? {} : (JSON.parse(Buffer.from(payload).toString('utf8')) as KeptVerdicts | [KeptVerdicts, number[]]);
    // Until this was written, there were verdicts alone.
    const [verdicts, missed] = Array.isArray(kept) ? kept : [kept, []];
    return { kind: 'again', status, verdicts, missed };
  }
  return { kind: row['kind'] === 'cut' ? 'cut' : 'text', status, text: Buffer.from(row['kind'] === 'text' ? payload : zstdDecompressSync(payload)).toString('utf8') };
}
