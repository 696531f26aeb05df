/** The context that the steps share. Types only. */
import type { ProviderClient } from '../client/provider-client.ts';
import type { RunLedger } from '../ledger/run-ledger.ts';
import type { CallPool } from '../pool/call-pool.ts';
import type { RequestSize } from './request-size.ts';
import type { MissQuarantine } from './miss-quarantine.ts';

export interface StepContext {
  readonly client: ProviderClient;
  readonly pool: CallPool;
  readonly ledger: Pick<RunLedger, 'get' | 'ask' | 'release' | 'put' | 'promise'>;
  readonly quarantine: MissQuarantine;
  /**
   * The `Idempotency-Key` of a request body: the same for every attempt and every resume. @param seed of an ended run that was asking;
   * absent or null for this run's own
   */
  readonly idempotencyKey: (body: string, seed?: string | null) => string;
  /** A lookup was answered, or is shared with another run: requests that are not full may have to go now. */
  readonly onSettled: () => void;
  /** Ends the run: an answer of the ledger could not be delivered. */
  readonly onFatal: (error: unknown) => void;
  /**
   * The size of requests for several lookups. Absent: requests are always full, and as many in flight as the pool takes.
   * @param largest lookups in a full request @param isProven see `RequestSize`
   */
  readonly paceOf?: (largest: number, isProven: boolean) => RequestPace;
  /** Answers that are not final will be polled. @param waitMs milliseconds until then */
  readonly onPending: (lookups: number, waitMs: number) => void;
}

/** The size of a step's requests for several lookups, and the listeners for changes. */
export interface RequestPace {
  readonly sizes: RequestSize;
  /** The longest wait for an answer, milliseconds. */
  readonly limitMs: number;
  /**
   * A request was too large for the service.
   * @param why for a sentence that begins with "verify requests" or another step's.
   * @param isSmaller the size has changed
   */
  readonly tooLarge: (why: string, isSmaller: boolean) => void;
  /** Writes a checkpoint with the current size, then calls `then`. @param withAnswers the ledger must have all answers first */
  readonly keep: (withAnswers: boolean, then: () => void) => void;
  /** The run stops: its last checkpoint must have the current size. @param isDone everything was answered, so a guessed size is dropped */
  readonly note: (isDone: boolean) => void;
}
