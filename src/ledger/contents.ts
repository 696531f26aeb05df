/** What is done with a whole ledger, wherever it lies. */
import type { LedgerPlace } from './place.ts';
import { purgeLedger, type Purged, type PurgeFilter } from './purge.ts';
import { ledgerStats, type LedgerStats } from './stats.ts';

export interface LedgerContents {
  /** @param maxAgeDays 0: whatever its age, as within one job */
  stats(options: { maxAgeDays: number; now: number }): Promise<LedgerStats>;
  /** Takes answers out, and has every copy made anew before it is used again. */
  purge(filter: PurgeFilter): Promise<Purged>;
  close(): void;
}

/** @throws InputError where there is none, StorageError, ConfigError, or 77 without credentials */
export async function openContents(place: LedgerPlace): Promise<LedgerContents> {
  switch (place.kind) {
    case 'file':
      return { stats: (options) => ledgerStats(place.path, options), purge: (filter) => purgeLedger(place.path, filter), close: () => undefined };
    case 's3': {
      const [{ S3Contents }, { Segments }] = await Promise.all([import('./s3/s3-contents.ts'), import('./s3/segments.ts')]);
      return new S3Contents(await Segments.at(place.uri));
    }
    case 'redis': {
      const { RedisContents } = await import('./redis/redis-contents.ts');
      return RedisContents.open(place.uri);
    }
    default:
      return place satisfies never;
  }
}
