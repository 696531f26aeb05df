/** Opens a whole ledger for `stats` and `purge`, in a file, S3 or Redis. */
import type { LedgerLocation } from '../definition/ledger-location.ts';
import type { LedgerContents } from './contents.ts';
import { purgeLedger } from './purge.ts';
import { ledgerStats } from './stats.ts';

/** @throws InputError when the ledger does not exist, StorageError, ConfigError, or MillraceError 77 without credentials */
export async function openContents(place: LedgerLocation): Promise<LedgerContents> {
  switch (place.kind) {
    case 'file':
      return {
        stats: (options) => ledgerStats(place.path, options),
        purge: (filter) => purgeLedger(place.path, filter),
        close: () => undefined,
      };
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
