import type { RecordOrigin } from '../formats/input-record.ts';
import type { LookupOutcome } from './lookup-outcome.ts';

type Done<R> = (outcome: LookupOutcome<R>) => void;

/** A lookup without an answer yet, and the records that wait for it. Thousands exist at once, nearly all with a single record. */
export class LookupInFlight<L, R> {
  readonly lookup: L;
  readonly scope: number;
  /** The record that asked first; null for a key of the command line. */
  readonly origin: RecordOrigin | null;
  /** Whether the ledger has an entry about it, so that its answer is no new lookup. */
  isKept: boolean;
  /** The form of the 404 that it was answered with, and for which it is asked once more; null without one. */
  missed: string | null = null;
  /** The Idempotency-Key of the request for several whose ticket has ended without its answer; null without one. */
  endedTicket: string | null = null;
  /** The seed of an ended run that was asking: see `StepContext.idempotencyKey`. Null for this run's own. */
  seed: string | null = null;
  #first: Done<R> | null;
  #others: Done<R>[] | null = null;

  constructor(lookup: L, scope: number, origin: RecordOrigin | null, first: Done<R>, isKept: boolean) {
    this.lookup = lookup;
    this.scope = scope;
    this.origin = origin;
    this.isKept = isKept;
    this.#first = first;
  }

  add(done: Done<R>): void {
    (this.#others ??= []).push(done);
  }

  /** Calls back every record, in the order in which they asked. Does nothing the second time. */
  settle(outcome: LookupOutcome<R>): void {
    const [first, others] = [this.#first, this.#others];
    // A rebuilt map keeps its old table, and the waiting records in it, until the next full collection.
    this.#first = null;
    this.#others = null;
    first?.(outcome);
    for (const done of others ?? []) done(outcome);
  }
}
