/**
 * Idempotency keys: the first answer to a request is stored for 24 hours, so that repeating the request is harmless and free.
 * The store has the answer before the client does. Memory holds only claims in flight and answers that are being written.
 */
import { hash } from 'node:crypto';
import { openSecret, sealSecret } from './sealed-secret.ts';
import { AnswerRows, type FirstAnswer, type NewAnswer, type Without } from './answer-rows.ts';
import { erasedSince } from '../store/identity/erased-since.ts';
import type { Journal, JournalWrite, JournalMember } from '../store/journal.ts';
import type { Store } from '../store/store.ts';
import { storeUnwritable } from '../accounts/store-refusals.ts';

const KEPT_MS = 24 * 3_600_000;
/** A longer answer is sent and not stored: a repeated request is refused, not done or charged again. Characters. */
export const MAX_ANSWER_LENGTH = 8 * 1024 * 1024;
/** The most that all answers together may have while they wait for a store that cannot be written. Characters. */
const MAX_WAITING_LENGTH = 128 * 1024 * 1024;
/** How often old answers are deleted, and how many at least: twice as many as came, so that they never pile up. */
const PURGE_EVERY_MS = 50;
const PURGE_AT_LEAST = 100;

/** The keys of the definitions: at most 255 printable ASCII characters. */
const VALID_KEY = /^[\x20-\x7e]{1,255}$/;

export type ClaimResult =
  | { readonly kind: 'new'; readonly ticket: IdempotencyClaim }
  | { readonly kind: 'replay'; readonly answer: FirstAnswer }
  | { readonly kind: Without | 'in_flight' | 'mismatch' };

/** The claim of one request on its idempotency key, until `finish`. */
export interface IdempotencyClaim {
  readonly scope: Buffer;
  readonly request: Buffer;
  /** Id of the API key. */
  readonly keyId: string;
  /** Arrival of the request, epoch milliseconds. People who are erased later are not stored in its answer. */
  readonly atMs: number;
  /** Encrypts the secret in the answer. */
  readonly passphrase: string;
}

/** An answer to store. `secret` is a part of its text, or null. */
export interface StorableAnswer extends FirstAnswer {
  readonly secret: string | null;
}

interface Waiting {
  readonly ticket: IdempotencyClaim;
  /** Null when it is too long to be stored. */
  readonly answer: StorableAnswer | null;
  /** Called when it cannot be stored, before its charge is written. */
  readonly onLost: () => void;
}

export function isIdempotencyKey(key: string): boolean {
  return VALID_KEY.test(key);
}

export class Idempotency implements JournalMember {
  readonly where = 'idempotency';
  readonly #journal: Journal;
  readonly #now: () => number;
  readonly #rows: AnswerRows;
  readonly #erased;
  readonly #inFlight = new Map<string, Buffer>();
  readonly #waiting = new Map<string, Waiting>();
  #waitingLength = 0;
  /** Claims in flight whose answer was written together with a change. */
  readonly #kept = new Set<string>();
  /** Answers that damage in the store lost, until `isLost` was asked. */
  readonly #lost = new Set<string>();
  #purgedMs = 0;
  /** False once damage in the store kept old answers from being deleted. */
  #canPurge = true;
  /** Answers written since then. */
  #written = 0;

  /** @param now wall clock, epoch milliseconds, because answers outlive the process @param rows default: the rows of the store */
  constructor(store: Store, journal: Journal, now: () => number, rows: AnswerRows = new AnswerRows(store)) {
    this.#journal = journal;
    this.#now = now;
    this.#rows = rows;
    this.#erased = erasedSince(store);
    journal.join(this);
  }

  /** Claims `key` of this API key for a request: the path asked for and the body as it was sent. */
  claim(keyId: string, key: string, path: string, body: Uint8Array): ClaimResult {
    const passphrase = `${keyId}\n${key}`;
    const scope = digest(passphrase);
    const request = digest(Buffer.concat([Buffer.from(`${path}\n`), body]));
    const name = scope.toString('latin1');
    const inFlight = this.#inFlight.get(name);
    if (inFlight !== undefined) return { kind: inFlight.equals(request) ? 'in_flight' : 'mismatch' };
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) {
      if (!waiting.ticket.request.equals(request)) return { kind: 'mismatch' };
      return waiting.answer === null ? { kind: 'dropped' } : this.#repeat(waiting.answer, waiting.ticket.atMs);
    }
    const nowMs = this.#now();
    const found = this.#rows.find(scope, nowMs - KEPT_MS);
    if (found !== null) {
      if (!request.equals(found.request)) return { kind: 'mismatch' };
      return typeof found.answer === 'string'
        ? { kind: found.answer }
        : this.#repeat(unsealed(found.answer, found.sealed, passphrase), found.atMs);
    }
    this.#inFlight.set(name, request);
    return { kind: 'new', ticket: { scope, request, keyId, atMs: nowMs, passphrase } };
  }

  /**
   * Ends a claim. With `answer` null nothing is settled, and the next request with the key is a first one.
   * @param onLost called when the answer cannot be stored: it refunds the charge
   * @throws ServiceError when too much waits for a store that cannot be written
   */
  finish(ticket: IdempotencyClaim, answer: StorableAnswer | null, onLost: () => void = () => undefined): void {
    const name = ticket.scope.toString('latin1');
    this.#inFlight.delete(name);
    // An answer that was written with a change is gone when the change was rolled back.
    const isKept = this.#kept.delete(name) && this.#rows.has(ticket.scope, this.#now() - KEPT_MS);
    if (isKept || answer === null) return;
    const kept = keepable(answer);
    const length = kept?.text.length ?? 0;
    if (this.#waitingLength + length > MAX_WAITING_LENGTH) throw storeUnwritable(this.#journal.failure, 'charged');
    this.#waiting.set(name, { ticket, answer: kept, onLost });
    this.#waitingLength += length;
    this.#journal.wake();
  }

  /**
   * Writes an answer within the open transaction, together with the change that it reports. Returns false, and writes nothing, when another
   * process has answered a request with this key.
   */
  write(ticket: IdempotencyClaim, answer: StorableAnswer): boolean {
    if (this.#rows.has(ticket.scope, this.#now() - KEPT_MS)) return false;
    this.#rows.put([toRow({ ticket, answer: keepable(answer) })]);
    this.#kept.add(ticket.scope.toString('latin1'));
    return true;
  }

  /** Drops an answer that is neither written nor sent. */
  forget(ticket: IdempotencyClaim): void {
    const name = ticket.scope.toString('latin1');
    this.#waitingLength -= this.#waiting.get(name)?.answer?.text.length ?? 0;
    this.#waiting.delete(name);
  }

  get size(): number {
    return this.#waiting.size;
  }

  flush(): void {
    this.#write([...this.#waiting.values()]);
    if (this.#isPurgeDue()) this.#throwAway();
  }

  flushed(): void {
    this.#written += this.#waiting.size;
    this.#waiting.clear();
    this.#waitingLength = 0;
    if (!this.#isPurgeDue()) return;
    this.#purgedMs = this.#now();
    this.#written = 0;
  }

  *parts(): Iterable<JournalWrite> {
    for (const waiting of this.#waiting.values())
      yield { chargedTo: waiting.ticket.keyId, write: () => this.#write([waiting]), giveUp: () => this.#lose(waiting) };
    if (this.#isPurgeDue()) yield { write: () => this.#throwAway(), giveUp: () => void (this.#canPurge = false) };
  }

  #lose({ ticket, onLost }: Waiting): void {
    this.forget(ticket);
    this.#lost.add(ticket.scope.toString('latin1'));
    onLost();
  }

  /** Whether damage in the store lost the answer. To be asked once, before it is sent. */
  isLost({ scope }: IdempotencyClaim): boolean {
    return this.#lost.delete(scope.toString('latin1'));
  }

  #write(answers: readonly Waiting[]): void {
    const sinceMs = answers.reduce((least, { ticket }) => Math.min(least, ticket.atMs), Infinity);
    const isAnybodyErased = this.#erased.anybody(sinceMs);
    const isErased = ({ answer, ticket }: Waiting): boolean =>
      isAnybodyErased && answer !== null && this.#erased.answer(answer, ticket.atMs);
    this.#rows.put(answers.map((waiting) => (isErased(waiting) ? { ...toRow(waiting), answer: 'erased', sealed: null } : toRow(waiting))));
  }

  #throwAway(): void {
    this.#rows.purge(this.#now() - KEPT_MS, PURGE_AT_LEAST + 2 * (this.#written + this.#waiting.size));
  }

  /** A stored answer is checked again when it is repeated, because an erasure may be under way or cut off. */
  #repeat(answer: FirstAnswer, atMs: number): ClaimResult {
    return this.#erased.answer(answer, atMs) ? { kind: 'erased' } : { kind: 'replay', answer };
  }

  #isPurgeDue(): boolean {
    return this.#canPurge && Math.abs(this.#now() - this.#purgedMs) >= PURGE_EVERY_MS;
  }
}

/** Half a SHA-256: collisions stay out of reach, and rows stay small. */
function digest(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer').subarray(0, 16);
}

function keepable(answer: StorableAnswer): StorableAnswer | null {
  return answer.text.length > MAX_ANSWER_LENGTH ? null : answer;
}

function toRow({ ticket: { scope, request, atMs, passphrase }, answer }: Pick<Waiting, 'ticket' | 'answer'>): NewAnswer {
  if (answer === null) return { scope, request, atMs, answer: 'dropped', sealed: null };
  const { secret } = answer;
  if (secret === null) return { scope, request, atMs, answer, sealed: null };
  const sealed = sealSecret(secret, passphrase);
  return { scope, request, atMs, answer: { ...answer, text: answer.text.replace(secret, () => sealed) }, sealed };
}

function unsealed(answer: FirstAnswer, sealed: string | null, passphrase: string): FirstAnswer {
  return sealed === null ? answer : { ...answer, text: answer.text.replace(sealed, () => openSecret(sealed, passphrase)) };
}
