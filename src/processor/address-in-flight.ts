import type { RecordOrigin } from '../formats/input-record.ts';
import type { VerifyOutcome } from './verify-outcome.ts';

type Done = (outcome: VerifyOutcome) => void;

/** An address that a request asks for, and the records that wait for it. Thousands exist at once, nearly all with a single record. */
export class AddressInFlight {
  /** The record that asked first; null for a key of the command line. */
  readonly origin: RecordOrigin | null;
  #first: Done | null;
  #others: Done[] | null = null;

  constructor(origin: RecordOrigin | null, first: Done) {
    this.origin = origin;
    this.#first = first;
  }

  add(done: Done): void {
    (this.#others ??= []).push(done);
  }

  /** Calls back every record, in the order in which they asked. */
  settle(outcome: VerifyOutcome): void {
    const [first, others] = [this.#first, this.#others];
    // A rebuilt map keeps its old table, and the records in it, until the next full collection.
    this.#first = null;
    this.#others = null;
    first?.(outcome);
    for (const done of others ?? []) done(outcome);
  }
}
