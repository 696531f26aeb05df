/** What the steps share. Types only. */
import type { DataServiceClient } from '../client/data-service-client.ts';
import type { RunLedger } from '../ledger/run-ledger.ts';
import type { CallPool } from '../pool/call-pool.ts';
import type { RequestSize } from './request-size.ts';
import type { TrustGate } from './trust-gate.ts';

export interface StepContext {
  readonly client: DataServiceClient;
  readonly pool: CallPool;
  readonly ledger: Pick<RunLedger, 'get' | 'ask' | 'put'>;
  readonly gate: TrustGate;
  /**
   * The `Idempotency-Key` of a request body: the same for every attempt and every resume that sends it.
   * @param seed of a run that is gone, and was asking; left out or null: this run's own
   */
  readonly idempotencyKey: (body: string, seed?: string | null) => string;
  /** A lookup was settled or shared: something may be able to move. */
  readonly onProgress: () => void;
  /** So many verdicts are not final, and are asked for again after so many milliseconds. */
  readonly onPending: (addresses: number, waitMs: number) => void;
}

/** How large verify requests are, and who hears of it. */
export interface RequestPace {
  readonly sizes: RequestSize;
  /** Longest wait for an answer, milliseconds. */
  readonly limitMs: number;
  /** A request was too large for the service. @param why for a sentence that begins with "verify requests". @param isSmaller the size has changed */
  readonly tooLarge: (why: string, isSmaller: boolean) => void;
  /** Makes a resume begin with the size of now, then calls `then`. @param withAnswers the ledger must have all answers first */
  readonly keep: (withAnswers: boolean, then: () => void) => void;
  /** The run is being stopped: its last checkpoint is to have the size of now. @param isDone all was answered, so a size that is just a guess is forgotten */
  readonly note: (isDone: boolean) => void;
}
