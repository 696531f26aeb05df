import { statSync } from 'node:fs';
import type { LedgerLocation } from '../definition/ledger-location.ts';
import { Ledger } from './ledger.ts';
import { openRunLedger, type RunLedgerOptions } from './open-run-ledger.ts';
import type { ReadOnlyLedger } from './read-only-ledger.ts';

/** Opens a ledger for reading; null when it does not exist. @param place for S3 and Redis, `path` is a file that ends with the command */
export async function openReadOnlyLedger(place: LedgerLocation, options: RunLedgerOptions): Promise<ReadOnlyLedger | null> {
  switch (place.kind) {
    case 'file': {
      if ((statSync(place.path, { throwIfNoEntry: false })?.size ?? 0) === 0) return null;
      const ledger = Ledger.open({ ...options, path: place.path, readOnly: true });
      return {
        scope: (...names) => ledger.scope(...names),
        look: (scope, key) => ledger.look(scope, key),
        fetch: null,
        close: async () => ledger.close(),
      };
    }
    case 's3': {
      const ledger = await openRunLedger(place, options);
      return {
        scope: (...names) => ledger.scope(...names),
        look: (scope, key) => ledger.get(scope, key),
        fetch: null,
        close: () => ledger.close(),
      };
    }
    case 'redis': {
      const { RedisReadOnlyLedger } = await import('./redis/redis-read-only-ledger.ts');
      return RedisReadOnlyLedger.open(place, options);
    }
    default:
      return place satisfies never;
  }
}
