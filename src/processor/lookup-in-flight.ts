import type { RecordOrigin } from '../formats/input-record.ts';
import type { LookupOutcome } from './lookup-outcome.ts';

type Done<R> = (outcome: LookupOutcome<R>) => void;

/** A lookup without an answer yet, and the records that wait for it. */
export class LookupInFlight<L, R> {
  readonly lookup: L;
  readonly scope: number;
  /** The record that asked first; null for a key of the command line. */
  readonly origin: RecordOrigin | null;
  /** Whether the ledger has a note about it, so that its answer is no new lookup. */
  isKept: boolean;
  #waiting: Done<R>[];

  constructor(lookup: L, scope: number, origin: RecordOrigin | null, first: Done<R>, isKept: boolean) {
    this.lookup = lookup;
    this.scope = scope;
    this.origin = origin;
    this.isKept = isKept;
    this.#waiting = [first];
  }

  add(done: Done<R>): void {
    this.#waiting.push(done);
  }

  /** Calls back every record, in the order in which they asked. Does nothing the second time. */
  settle(outcome: LookupOutcome<R>): void {
    const waiting = this.#waiting;
    // A rebuilt map keeps its old table, and the waiting records in it, until the next full collection.
    this.#waiting = [];
    for (const done of waiting) done(outcome);
  }
}
