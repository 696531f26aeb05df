import { ClaimingLedger } from './claims/claiming-ledger.ts';
import type { LedgerOptions, Teller } from './options.ts';
import type { LedgerLocation } from '../definition/ledger-location.ts';
import type { RunLedger } from './run-ledger.ts';

export interface RunLedgerOptions extends Omit<LedgerOptions, 'path' | 'failedBy' | 'readOnly'> {
  /** When this run, or its retry, began, milliseconds since 1970. */
  readonly since: number;
  /** Distinguishes executions at the same time: a shard's own name. Absent: `run`. */
  readonly claimant?: string;
  /** The seed of this run's Idempotency-Keys. A run that takes over a claim of this one uses the same keys. */
  readonly keySeed: string;
  /** The longest outage of a ledger on a network, milliseconds. */
  readonly maxOutageMs: number;
  readonly tell: Teller;
  /** Aborted when the run is to end soon, and when it is to end now. */
  readonly drain?: AbortSignal;
  readonly abort?: AbortSignal;
}

/**
 * Opens the ledger of a run in a file, S3 or Redis. Code for S3 and Redis is loaded for them only. @throws StorageError, ConfigError, or
 * MillraceError 77 without credentials
 */
export async function openRunLedger(place: LedgerLocation, options: RunLedgerOptions): Promise<RunLedger> {
  const shared = { ...options, path: place.path, failedBy: 'time' } as const;
  switch (place.kind) {
    case 'file':
      return ClaimingLedger.open({ ...options, path: place.path, claimant: options.claimant ?? options.run, sharedSince: options.since });
    case 's3': {
      const [{ S3Ledger }, { Segments }] = await Promise.all([import('./s3/s3-ledger.ts'), import('./s3/segments.ts')]);
      return S3Ledger.open({ ...shared, drain: options.drain }, await Segments.at(place.uri, options.abort));
    }
    case 'redis': {
      const { RedisLedger } = await import('./redis/redis-ledger.ts');
      return RedisLedger.open(place.uri, { ...shared, drain: options.drain, abort: options.abort });
    }
    default:
      return place satisfies never;
  }
}
