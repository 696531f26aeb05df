import { statSync } from 'node:fs';
import type { LedgerLocation } from '../definition/ledger-location.ts';
import { asking } from './answer.ts';
import { Ledger } from './ledger.ts';
import { openRunLedger, type RunLedgerOptions } from './open-run-ledger.ts';
import type { ReadOnlyLedger } from './read-only-ledger.ts';
import type { RunLedger } from './run-ledger.ts';

/** Opens a ledger for reading; null when it does not exist. @param place for S3 and Redis, `path` is a file that ends with the command */
export async function openReadOnlyLedger(place: LedgerLocation, options: RunLedgerOptions): Promise<ReadOnlyLedger | null> {
  switch (place.kind) {
    case 'file': {
      if ((statSync(place.path, { throwIfNoEntry: false })?.size ?? 0) === 0) return null;
      const ledger = Ledger.open({ ...options, path: place.path, readOnly: true });
      return {
        scope: (...names) => ledger.scope(...names),
        look: (scope, key) => ledger.look(scope, key) ?? asking(ledger.promised(scope, key)),
        fetch: null,
        close: async () => ledger.close(),
      };
    }
    case 's3': {
      const ledger = await openRunLedger(place, options);
      return {
        scope: (...names) => ledger.scope(...names),
        look: (scope, key) => ledger.get(scope, key) ?? asking(promisedIn(ledger, scope, key)),
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

/** The note of a promise to another run; null without one. A ledger in S3 has no claims, so that asking changes nothing. */
function promisedIn(ledger: RunLedger, scope: number, key: string): string | null {
  let note: string | null = null;
  ledger.ask(scope, key, (_answer, _seed, promised = null) => {
    note = promised;
  });
  return note;
}
