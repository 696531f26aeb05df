/** A ledger as `plan` sees it: asked, and left as it is. */
import { statSync } from 'node:fs';
import type { LedgerAnswer } from './answer.ts';
import { Ledger } from './ledger.ts';
import { openRunLedger, type RunLedgerOptions } from './open-run-ledger.ts';
import type { LedgerPlace } from './place.ts';

export interface Lookup { readonly scope: number; readonly key: string }

export interface PeekedLedger {
  scope(origin: string, step: string, options: string): number;
  /** What a run would be told by the ledger; of one on a network, after `fetch`. */
  look(scope: number, key: string): LedgerAnswer | null;
  /** Asks for these together; null: `look` needs nothing before. @throws StorageError */
  readonly fetch: ((lookups: readonly Lookup[]) => Promise<void>) | null;
  close(): Promise<void>;
}

/** Null: there is none. @param place of one that lies elsewhere `path` is a file that goes with the command */
export async function peekLedger(place: LedgerPlace, options: RunLedgerOptions): Promise<PeekedLedger | null> {
  switch (place.kind) {
    case 'file': {
      if ((statSync(place.path, { throwIfNoEntry: false })?.size ?? 0) === 0) return null;
      const ledger = Ledger.open({ ...options, path: place.path, peek: true });
      return { scope: (...names) => ledger.scope(...names), look: (scope, key) => ledger.look(scope, key), fetch: null, close: async () => ledger.close() };
    }
    case 's3': {
      const ledger = await openRunLedger(place, options);
      return { scope: (...names) => ledger.scope(...names), look: (scope, key) => ledger.get(scope, key), fetch: null, close: () => ledger.close() };
    }
    case 'redis': {
      const { RedisPeek } = await import('./redis/redis-peek.ts');
      return RedisPeek.open(place, options);
    }
    default:
      return place satisfies never;
  }
}
