/**
 * The calls that the steps make at a provider: one method for each step, one call a request. The typed client of the specification's
 * service implements it, and so does the client of declared providers.
 */
import type { CallOptions, CompanyAnswer, EnrichAnswer, EnrichKey, RecordAnswer, RevealAnswer, RevealKey } from './attempt-client.ts';
import type { CallMeta, CallResult } from './types.ts';
import type { VerifyAnswer } from './verify-answer.ts';

/** The steps whose answers are records: the standard ones, and custom ones by any name. */
export type LookupStepName = 'enrich' | 'company' | 'reveal' | (string & NonNullable<unknown>);

/**
 * The provider has taken the lookup and answers later. `ticket` names its promise: a later call with this ticket asks for the answer,
 * without paying again.
 */
export interface PendingAnswer {
  readonly kind: 'pending';
  readonly ticket: string;
  /** When to ask again, milliseconds from now. */
  readonly afterMs: number;
  /** The lookup fails when it is still pending so long after its first call, milliseconds. */
  readonly longestMs: number;
  readonly meta: CallMeta;
}

/** The code of an answer to a ticket that the provider no longer knows. */
export const TICKET_LOST = 'ticket_lost';

export interface LookupOptions extends CallOptions {
  /** From an earlier `PendingAnswer` to the same lookup; absent or null for a first call. */
  readonly ticket?: string | null;
  /** Polls for this ticket that were answered with another promise; absent: none. */
  readonly polls?: number;
  /** An answer with this ticket was read before, and its cost was counted. */
  readonly isAnswered?: boolean;
}

/** The record of a kept answer; null for a miss; `not_taken` where no rule of the definition takes the answer. */
export type StoredRecord = RecordAnswer<unknown> | null | 'not_taken';

/** The answer to one lookup of a request for several. An answer that leaves a lookup out has null in its place. */
export type BatchItem = CallResult<RecordAnswer<unknown>> | null;

/** Requests that carry several lookups. */
export interface LookupBatches {
  /** Lookups that one request of this step can carry; 1 when each lookup has a request of its own. */
  size(step: LookupStepName): number;
  /** Whether the step has no request for a lookup alone, which then goes in a request for one. Absent: it has. */
  isOnly?(step: LookupStepName): boolean;
  /**
   * One attempt at several lookups, or at the answer that was promised to them.
   * @param bodies of the lookups, as `enrichBody` and `revealBody` make them; domains for company. Null for a lookup of a ticket that is
   * no longer known: its answer is passed over
   * @returns `ok` with one item for each body, in order; or why the request as a whole has no answer
   */
  call(
    step: LookupStepName,
    bodies: readonly (string | null)[],
    options?: LookupOptions,
  ): Promise<CallResult<readonly BatchItem[]> | PendingAnswer>;
}

export interface ProviderClient {
  /** The text that names the lookup of a person: the same text for the same key, always. Its hash makes the `Idempotency-Key`. */
  enrichBody(key: EnrichKey | RevealKey): string;
  /** The same for a contact. */
  revealBody(key: RevealKey): string;
  /** The same for verdicts, in the order given. */
  verifyBody(emails: readonly string[]): string;
  callEnrich(body: string, options?: LookupOptions): Promise<CallResult<EnrichAnswer> | PendingAnswer>;
  callReveal(body: string, options?: LookupOptions): Promise<CallResult<RevealAnswer> | PendingAnswer>;
  callCompany(domain: string, options?: LookupOptions): Promise<CallResult<CompanyAnswer> | PendingAnswer>;
  callVerify(body: string, options?: LookupOptions): Promise<CallResult<VerifyAnswer> | PendingAnswer>;
  /** One attempt at a lookup of a custom step. `body` is a text of `revealBody`. Absent: the provider has no such steps. */
  callOwn?(step: string, body: string, options?: LookupOptions): Promise<CallResult<RecordAnswer<unknown>> | PendingAnswer>;
  /** Absent: each lookup has a request of its own. */
  readonly batches?: LookupBatches;
  /**
   * The record of an answer whose `text` the ledger kept. Absent: the text is the record. A provider that keeps its own answer and maps it
   * each time lets a corrected mapping cost nothing. Null: the provider knew nobody.
   */
  readonly readStored?: (step: LookupStepName, text: string) => Promise<StoredRecord>;
  /** Waits for what is under way, then closes the sockets. */
  close(): Promise<void>;
  /** Cancels what is under way. */
  destroy(): Promise<void>;
}
