/** The ledger as a run sees it, wherever it lies: the door of this room for the pipeline. */
import type { Wait } from '../waits.ts';
import type { LedgerAnswer } from './answer.ts';
import type { Ledger } from './ledger.ts';
import type { Lookups } from './lookup-counts.ts';
import type { LedgerEntry } from './options.ts';

/**
 * Called once: with the answer that another run has paid for, or with null when it is for this run to ask.
 * `seed`: a run that is gone was asking. The request's Idempotency-Key is made with this, so that a service does not charge twice.
 */
export type Told = (answer: LedgerAnswer | null, seed?: string | null) => void;

/** Whom a ledger that is asked over the network tells. */
export interface LedgerListener {
  /** Lookups were told of, or wait for other runs. */
  readonly moved: () => void;
  /** It cannot go on: the run ends with this. */
  readonly failed: (error: unknown) => void;
}

export interface RunLedger {
  /** How many lookups wait for an answer that another run is asking for. They are within nobody's power here. */
  readonly waiting: number;
  /** What keeps lookups from being claimed, or claimed ones from being sent; null: nothing. */
  readonly joining: Wait | null;
  listen(listener: LedgerListener): void;
  /** A number for (origin, step, options): the part of an entry's key that a whole job shares. */
  scope(origin: string, step: string, options: string): number;
  /** The answer that is known here for a key, if this run may use it. */
  get(scope: number, key: string): LedgerAnswer | null;
  /** To be asked before each new lookup that `get` does not know: at once or later, other runs that share the ledger are heard. */
  ask(scope: number, key: string, told: Told): void;
  /** Keeps the answers of one request. */
  put(entries: readonly LedgerEntry[]): void;
  /** Back-pressure: null when more may be asked. */
  room(): Promise<void> | null;
  /** True: a call for what was asked may be sent now. A promise: ask again then. @throws by it, StorageError */
  mayCall(): true | Promise<void>;
  /** All that was put by the time of this call is durable, where the run's next start will find it. @throws StorageError */
  keep(): Promise<void>;
  /** Distinct lookups of this run over all its resumes, and how many of them an earlier run had paid for. */
  totals(): Lookups;
  /** What this execution has added to them. */
  added(): Lookups;
  /** What `LedgerOptions.failedUpTo` may be later: the latest answer by then. */
  lastAnswer(): number;
  /** Keeps nothing more than what is durable; lets go of what it asked for. */
  close(): Promise<void>;
}

/** A ledger of this machine alone: the file is all there is. */
export class FileLedger implements RunLedger {
  protected readonly file: Ledger;

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

  get(scope: number, key: string): LedgerAnswer | null {
    return this.file.get(scope, key);
  }

  ask(_scope: number, _key: string, told: Told): void {
    told(null);
  }

  put(entries: readonly LedgerEntry[]): void {
    this.file.put(entries);
  }

  room(): Promise<void> | null {
    return null;
  }

  mayCall(): true | Promise<void> {
    return true;
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

  async close(): Promise<void> {
    this.file.close();
  }
}
