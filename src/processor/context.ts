/** What the steps share. Types only. */
import type { DataServiceClient } from '../client/data-service-client.ts';
import type { RunLedger } from '../ledger/run-ledger.ts';
import type { CallPool } from '../pool/call-pool.ts';
import type { TrustGate } from './trust-gate.ts';

export interface StepContext {
  readonly client: DataServiceClient;
  readonly pool: CallPool;
  readonly ledger: Pick<RunLedger, 'get' | 'ask' | 'put'>;
  readonly gate: TrustGate;
  /** The `Idempotency-Key` of a request body: the same for every attempt and every resume that sends it. */
  readonly idempotencyKey: (body: string) => string;
  /** A lookup was settled or shared: something may be able to move. */
  readonly onProgress: () => void;
  /** So many verdicts are not final, and are asked for again after so many milliseconds. */
  readonly onPending: (addresses: number, waitMs: number) => void;
}
