/**
 * Idempotency keys: the first answer to a request is remembered for 24 hours, so that sending it again is harmless and free.
 * What is remembered lives in the store and is written before it is sent; in memory are only what is in flight and what is being written.
 */
import { hash } from 'node:crypto';
import { openSecret, sealSecret } from './sealed-secret.ts';
import { AnswerRows, type FirstAnswer, type NewAnswer, type Without } from './store/answer-rows.ts';
import { erasedSince } from './store/erased-since.ts';
import type { Journal, Part, Pending } from './store/journal.ts';
import type { Store } from './store/store.ts';
import { unwritten } from './unwritten.ts';

const KEPT_MS = 24 * 3_600_000;
/** Longer answers are given and not kept: a replay is refused, and nothing is done or charged again. Characters. */
export const MAX_ANSWER_LENGTH = 8 * 1024 * 1024;
/** Answers that wait for a store that cannot be written, together; one more is refused. Characters. */
const MAX_WAITING_LENGTH = 128 * 1024 * 1024;
/** How often old answers are thrown away, and how many at least; twice as many as came, so that they never pile up. */
const PURGE_EVERY_MS = 50;
const PURGE_AT_LEAST = 100;

/** The keys of the definitions: at most 255 printable ASCII characters. */
const VALID_KEY = /^[\x20-\x7e]{1,255}$/;

export type Begun =
  | { readonly kind: 'new'; readonly ticket: Ticket }
  | { readonly kind: 'replay'; readonly answer: FirstAnswer }
  | { readonly kind: Without | 'in_flight' | 'mismatch' };

/** One request that holds its idempotency key until `finish`. */
export interface Ticket {
  readonly scope: Buffer;
  readonly request: Buffer;
  /** The API key's id. */
  readonly keyId: string;
  /** When it came, epoch milliseconds: whoever is erased from then on is not kept in its answer. */
  readonly atMs: number;
  /** By which secrets in its answer are encrypted. */
  readonly passphrase: string;
}

/** An answer to be kept, and the secret that is a part of its text; null: there is none. */
export interface Given extends FirstAnswer {
  readonly secret: string | null;
}

interface Waiting {
  readonly ticket: Ticket;
  /** Null: it is too long to be kept. */
  readonly answer: Given | null;
  /** Called when it cannot be kept, before what it cost is written. */
  readonly onLost: () => void;
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
  readonly #rows: AnswerRows;
  readonly #erased;
  readonly #inFlight = new Map<string, Buffer>();
  readonly #waiting = new Map<string, Waiting>();
  #waitingLength = 0;
  /** Of those in flight: written with what they have changed. */
  readonly #kept = new Set<string>();
  /** Answers whose place in the store is damaged, until whoever waits for them has asked. */
  readonly #lost = new Set<string>();
  #purgedMs = 0;
  /** Old answers can be thrown away: nothing on the way to them is damaged. */
  #canPurge = true;
  /** Since then. */
  #written = 0;

  /** @param now wall clock, epoch milliseconds: what is kept outlives the process. @param rows default: those of the store */
  constructor(store: Store, journal: Journal, now: () => number, rows: AnswerRows = new AnswerRows(store)) {
    this.#journal = journal;
    this.#now = now;
    this.#rows = rows;
    this.#erased = erasedSince(store);
    journal.join(this, 'idempotency');
  }

  /** Claims `key` of this API key for a request: the path asked for and the body as it was sent. */
  begin(keyId: string, key: string, path: string, body: Uint8Array): Begun {
    const passphrase = `${keyId}\n${key}`;
    const scope = digest(passphrase);
    const request = digest(Buffer.concat([Buffer.from(`${path}\n`), body]));
    const name = scope.toString('latin1');
    const inFlight = this.#inFlight.get(name);
    if (inFlight !== undefined) return { kind: inFlight.equals(request) ? 'in_flight' : 'mismatch' };
    const waiting = this.#waiting.get(name);
    if (waiting !== undefined) {
      if (!waiting.ticket.request.equals(request)) return { kind: 'mismatch' };
      return waiting.answer === null ? { kind: 'dropped' } : this.#begun(waiting.answer, waiting.ticket.atMs);
    }
    const nowMs = this.#now();
    const found = this.#rows.find(scope, nowMs - KEPT_MS);
    if (found !== null) {
      if (!request.equals(found.request)) return { kind: 'mismatch' };
      return typeof found.answer === 'string' ? { kind: found.answer } : this.#begun(unsealed(found.answer, found.sealed, passphrase), found.atMs);
    }
    this.#inFlight.set(name, request);
    return { kind: 'new', ticket: { scope, request, keyId, atMs: nowMs, passphrase } };
  }

  /** Lets go of the key. `answer` null: it settled nothing, and the next request with the key is a first one. @param onLost called when the answer cannot be kept: nothing is to be charged for it @throws ServiceError when too much waits for a store that cannot be written */
  finish(ticket: Ticket, answer: Given | null, onLost: () => void = () => undefined): void {
    const name = ticket.scope.toString('latin1');
    this.#inFlight.delete(name);
    // What was kept with a change may have been undone with it, and another answer given.
    const isKept = this.#kept.delete(name) && this.#rows.has(ticket.scope, this.#now() - KEPT_MS);
    if (isKept || answer === null) return;
    const kept = keepable(answer);
    const length = kept?.text.length ?? 0;
    if (this.#waitingLength + length > MAX_WAITING_LENGTH) throw unwritten(this.#journal.failure, 'charged');
    this.#waiting.set(name, { ticket, answer: kept, onLost });
    this.#waitingLength += length;
    this.#journal.wake();
  }

  /** Writes an answer within the transaction that is open, with what it tells of, so that neither is there without the other. False, and nothing is written: another service has answered a request with this key. */
  write(ticket: Ticket, answer: Given): boolean {
    if (this.#rows.has(ticket.scope, this.#now() - KEPT_MS)) return false;
    this.#rows.put([toRow({ ticket, answer: keepable(answer) })]);
    this.#kept.add(ticket.scope.toString('latin1'));
    return true;
  }

  /** Takes an answer back that is not written yet: it was never sent. */
  forget(ticket: Ticket): void {
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

  *parts(): Iterable<Part> {
    for (const waiting of this.#waiting.values()) yield { chargedTo: waiting.ticket.keyId, write: () => this.#write([waiting]), giveUp: () => this.#lose(waiting) };
    if (this.#isPurgeDue()) yield { write: () => this.#throwAway(), giveUp: () => void (this.#canPurge = false) };
  }

  #lose({ ticket, onLost }: Waiting): void {
    this.forget(ticket);
    this.#lost.add(ticket.scope.toString('latin1'));
    onLost();
  }

  /** Whether an answer could not be kept, for its place in the store is damaged. To be asked once, before it is sent. */
  isLost({ scope }: Ticket): boolean {
    return this.#lost.delete(scope.toString('latin1'));
  }

  #write(answers: readonly Waiting[]): void {
    const sinceMs = answers.reduce((least, { ticket }) => Math.min(least, ticket.atMs), Infinity);
    const isAnybodyErased = this.#erased.anybody(sinceMs);
    const isErased = ({ answer, ticket }: Waiting): boolean => isAnybodyErased && answer !== null && this.#erased.answer(answer, ticket.atMs);
    this.#rows.put(answers.map((waiting) => (isErased(waiting) ? { ...toRow(waiting), answer: 'erased', sealed: null } : toRow(waiting))));
  }

  #throwAway(): void {
    this.#rows.purge(this.#now() - KEPT_MS, PURGE_AT_LEAST + 2 * (this.#written + this.#waiting.size));
  }

  /** What is kept is looked at again whenever it is repeated: an erasure may be under way, or may have been cut off. */
  #begun(answer: FirstAnswer, atMs: number): Begun {
    return this.#erased.answer(answer, atMs) ? { kind: 'erased' } : { kind: 'replay', answer };
  }

  #isPurgeDue(): boolean {
    return this.#canPurge && Math.abs(this.#now() - this.#purgedMs) >= PURGE_EVERY_MS;
  }
}

/** Half a SHA-256: nobody finds two requests that share it, and rows stay small. */
function digest(data: string | Uint8Array): Buffer {
  return hash('sha256', data, 'buffer').subarray(0, 16);
}

function keepable(answer: Given): Given | null {
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
