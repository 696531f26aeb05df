/** The differences between the steps: how lookups become requests, and how answers are read. Types and the named strategies. */
import type { RecordAnswer } from '../client/attempt-client.ts';
import type { LookupOptions, StoredRecord } from '../client/provider-client.ts';
import type { CallAnswer } from '../pool/call.ts';
import type { SettledCall } from '../pool/call-pool.ts';
import type { Step } from '../steps/registry.ts';

/** A lookup. Two lookups of one step with the same key are the same. */
export interface StepLookup {
  readonly key: string;
}

/** The final answer to one lookup; null when it has to be asked for again. */
export type AnswerToOne<R> = SettledCall<RecordAnswer<R>> | null;

/** One request, for one lookup or several. */
export interface LookupRequest<R> {
  /** One attempt; never throws. */
  send(options: LookupOptions): Promise<CallAnswer<unknown>>;
  /** The answers of a request that went well, in the order of its lookups. */
  answers(settled: SettledCall<unknown> & { readonly kind: 'ok' }): readonly AnswerToOne<R>[];
}

/** How lookups share requests. */
export interface BatchStrategy {
  /**
   * The order of the lookups decides which request each is in, so that a resume sends the same ones. A changed size waits for a
   * checkpoint.
   */
  readonly isOrdered: boolean;
  /** How lookups that an answer left out are asked for again: an entry that breaks a provider must not take its neighbours with it. */
  readonly leftOut: 'together' | 'alone';
}

/** Verify: a service that honours `Idempotency-Key` charges full requests of addresses once, whatever happens to the run. */
export const ORDERED_BATCHES: BatchStrategy = { isOrdered: true, leftOut: 'together' };
/** Enrich, company, reveal: one lookup a request, or as many as the provider takes. */
export const UNORDERED_BATCHES: BatchStrategy = { isOrdered: false, leftOut: 'alone' };

/** Answers that are not final are asked for again, under a new `Idempotency-Key`. */
export interface PollRule<R> {
  /** How long, from the first answer on, milliseconds; 0 for no polling. */
  readonly forMs: number;
  /** Milliseconds until the next poll; null when the answer is final. @param round of the next poll, from 1 */
  waitMs(record: R, round: number, nowMs: number): number | null;
}

export interface LookupForm<L extends StepLookup, R> {
  readonly step: Step;
  readonly strategy: BatchStrategy;
  /** Lookups in a full request. */
  readonly size: number;
  /** Whether a lookup alone has a request of another kind than several together. */
  readonly hasOwnRequest: boolean;
  /** The ledger scope of a lookup. */
  scopeOf(lookup: L): number;
  /** The text that names the request: the same for the same lookups, in every run. Its hash makes the `Idempotency-Key`. */
  textOf(lookups: readonly L[]): string;
  /** @param lookups null for one of a ticket that is no longer known, whose answer is passed over */
  requestFor(lookups: readonly (L | null)[]): LookupRequest<R>;
  /** The ledger scope of tickets of several lookups; null where there are none. */
  readonly ticketScope: number | null;
  /** The text that lists a lookup in the entry of a ticket, and the lookup that a text lists. */
  memberOf(lookup: L): string;
  lookupOf(member: string): L;
  /** Reads a kept answer. Absent: its text is the record. */
  readonly readStored?: ((text: string) => Promise<StoredRecord>) | undefined;
  /** Whether later runs may use the answer. Absent: all. */
  isSettled?(record: R): boolean;
  /** A provider may know nobody by a key. Otherwise a miss is a failure. */
  readonly mayMiss: boolean;
  /** Absent: every answer is final. */
  readonly polls?: PollRule<R>;
}
