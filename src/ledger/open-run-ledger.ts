import { ClaimingLedger } from './claims/claiming-ledger.ts';
import type { LedgerOptions, Teller } from './options.ts';
import type { LedgerPlace } from './place.ts';
import type { RunLedger } from './run-ledger.ts';

export interface RunLedgerOptions extends Omit<LedgerOptions, 'path' | 'failedBy' | 'peek'> {
  /** When this run, or its retry, began, milliseconds since 1970. */
  readonly since: number;
  /** What tells this execution from others that go on at the same time: of a shard its own name. Left out: `run`. */
  readonly claimant?: string;
  /** What this run's Idempotency-Keys are made with. A run that takes over what this one was asking for asks with the same keys. */
  readonly keySeed: string;
  /** How long a ledger on a network may be away, milliseconds. */
  readonly maxOutageMs: number;
  readonly tell: Teller;
  /** Aborted when the run is to end soon, and when it is to end now. */
  readonly drain?: AbortSignal;
  readonly abort?: AbortSignal;
}

/** The ledger of a run, wherever it lies; what S3 and Redis need is loaded for them only. @throws StorageError, ConfigError, or 77 without credentials */
export async function openRunLedger(place: LedgerPlace, options: RunLedgerOptions): Promise<RunLedger> {
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
