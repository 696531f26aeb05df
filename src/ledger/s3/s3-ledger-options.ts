import type { LedgerOptions, Teller } from '../options.ts';

export interface S3LedgerOptions extends LedgerOptions {
  readonly tell: Teller;
  /** Aborted when the run is to end soon. */
  readonly drain: AbortSignal | undefined;
}
