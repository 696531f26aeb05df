/** The ledger of a run in a file, S3 or Redis: the interface of this room for the pipeline. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Wait } from '../util/waits.ts';
import type { LedgerAnswer } from './answer.ts';
import type { Ledger } from './ledger.ts';
import type { Lookups } from './lookup-counts.ts';
import type { AnswersAhead } from './answers-ahead.ts';
import type { LedgerEntry } from './options.ts';

/**
 * Called once: with the answer that another run has paid for, or with null when this run is to ask. `seed`: a run that has ended was
 * asking; the request's Idempotency-Key is made with its seed, so that the service does not charge twice. `promised`: the note with the
 * ticket of a provider's promise, with which this run asks in place of a new request.
 */
export type LookupListener = (answer: LedgerAnswer | null, seed?: string | null, promised?: string | null) => void;

/** The listener of a ledger on a network. */
export interface LedgerListener {
  /** Lookups were answered, or wait for other runs. */
  readonly moved: () => void;
  /** The ledger has failed: the run ends with this error. */
  readonly failed: (error: unknown) => void;
}

export interface RunLedger {
  /** Lookups that wait for an answer to another run's request. */
  readonly waiting: number;
  /** The reason why lookups cannot be claimed or claimed ones not be sent; null without one. */
  readonly joining: Wait | null;
  listen(listener: LedgerListener): void;
  /** A number for (origin, step, options): the part of an entry's key that a whole job shares. */
  scope(origin: string, step: string, options: string): number;
  /** Whether a run has asked this origin with the ledger's file. */
  hasScopesOf(origin: string): boolean;
  /** The answer to a key that is known here, if this run may use it. */
  get(scope: number, key: string): LedgerAnswer | null;
  /**
   * Call it before each new lookup that `get` does not know. It answers at once or later, after asking other runs that share the ledger.
   * @param unfit the text of a known answer that this run cannot use; only a newer answer counts. null or absent without one
   */
  ask(scope: number, key: string, onAnswer: LookupListener, unfit?: string | null): void;
  /** This run asks for none of these after all: other runs may. */
  release(scope: number, keys: readonly string[]): void;
  /** Stores the answers of one request. */
  put(entries: readonly LedgerEntry[]): void;
  /** The same of promises to answer later. No call is sent until they are durable, so that a resume after a kill does not pay again. */
  promise(entries: readonly LedgerEntry[]): void;
  /** Back-pressure: null when more may be asked. */
  room(): Promise<void> | null;
  /** True when a call for the asked lookups may be sent now. After a promise, ask again. The promise rejects with StorageError. */
  mayCall(): true | Promise<void>;
  /** Makes everything stored so far durable, where the next start of the run finds it. @throws StorageError */
  keep(): Promise<void>;
  /** Distinct lookups of this run over all its resumes, and how many of them an earlier run had paid for. */
  totals(): Lookups;
  /** The part of the totals that this execution has added. */
  added(): Lookups;
  /** The value for a later `LedgerOptions.failedUpTo`: the latest answer now. */
  lastAnswer(): number;
  /** The last answers, where they are dated after that moment; null without any. With S3 and Redis only those that are copied here. */
  answersAhead(nowMs: number): AnswersAhead | null;
  /** Dates these answers at that moment, so that they age from now on. Returns their number. @throws StorageError */
  countAsWritten(ahead: AnswersAhead, nowMs: number): number;
  /** The spending of this run, as the places that store its answers know it; none where it is unknown. The greatest amounts count. */
  readonly spent: readonly string[];
  /** Stores the spending of this run together with its answers. @param now the spending up to now */
  storeSpent(now: () => string): void;
  /** Stores nothing more and releases all claims. */
  close(): Promise<void>;
}

/** The ledger in a file of this machine. */
export class FileLedger implements RunLedger {
  protected readonly file: Ledger;
  #promises: Promise<void> | null = null;
  #hasNewPromises = false;
  #failure: { readonly error: unknown } | null = null;

  constructor(file: Ledger) {
    this.file = file;
  }

  get waiting(): number {
    return 0;
  }

  get joining(): Wait | null {
    return null;
  }

  listen(_listener: LedgerListener): void {}

  scope(origin: string, step: string, options: string): number {
    return this.file.scope(origin, step, options);
  }

  hasScopesOf(origin: string): boolean {
    return this.file.hasScopesOf(origin);
  }

  get(scope: number, key: string): LedgerAnswer | null {
    return this.file.get(scope, key);
  }

  ask(scope: number, key: string, onAnswer: LookupListener, _unfit: string | null = null): void {
    onAnswer(null, null, this.file.promised(scope, key));
  }

  release(_scope: number, _keys: readonly string[]): void {}

  put(entries: readonly LedgerEntry[]): void {
    this.file.put(entries);
  }

  promise(entries: readonly LedgerEntry[]): void {
    this.put(entries);
    this.#hasNewPromises = true;
    this.#promises ??= this.#keepPromises();
  }

  room(): Promise<void> | null {
    return null;
  }

  mayCall(): true | Promise<void> {
    if (this.#failure !== null) throw this.#failure.error;
    return this.#promises ?? true;
  }

  async keep(): Promise<void> {
    this.file.flush();
  }

  totals(): Lookups {
    return this.file.totals();
  }

  added(): Lookups {
    return this.file.counts.all;
  }

  lastAnswer(): number {
    return this.file.lastAnswer();
  }

  answersAhead(nowMs: number): AnswersAhead | null {
    return this.file.answersAhead(nowMs);
  }

  countAsWritten(ahead: AnswersAhead, nowMs: number): number {
    return this.file.countAsWritten(ahead, nowMs);
  }

  get spent(): readonly string[] {
    return [this.file.spent].filter((text) => text !== '');
  }

  storeSpent(now: () => string): void {
    this.file.spentNow = now;
  }

  async close(): Promise<void> {
    await this.#promises;
    this.file.close();
  }

  /** Promises that come at about the same time are written together. Never rejects. */
  async #keepPromises(): Promise<void> {
    try {
      while (this.#hasNewPromises) {
        await nextTurn();
        this.#hasNewPromises = false;
        await this.keep();
      }
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#promises = null;
    }
  }
}
