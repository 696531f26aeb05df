import type { LedgerAnswer } from '../ledger.ts';
import type { ClaimAsk } from './waiting-asks.ts';
import type { Presence } from './presence.ts';

export interface FileClaimsOptions {
  readonly path: string;
  readonly presence: Presence;
  /** See `RunLedgerOptions.keySeed`. */
  readonly keySeed: string;
  readonly get: (ask: ClaimAsk) => LedgerAnswer | null;
  /** Reads the answers of other processes, then runs the work; `get` is fastest within it. */
  readonly readOthers: <T>(work: () => T) => T;
  /** Returns false while another process is writing. */
  readonly publish: () => boolean;
  /** Monotonic milliseconds. */
  readonly monotonicNow: () => number;
  /** The run shares the ledger from now on. */
  readonly shared: () => void;
  readonly moved: () => void;
  readonly failed: (error: unknown) => void;
}
