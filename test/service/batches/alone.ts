/** Batch jobs on their own store, without a service. */
import type { Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import { Batches, type BatchesOptions } from '../../../src/service/batches/batches.ts';
import type { BatchRequest } from '../../../src/service/batches/batch-request.ts';
import { KeyRing } from '../../../src/service/accounts/key-ring.ts';
import { KeyWrites } from '../../../src/service/accounts/key-writes.ts';
import { StoreWrites } from '../../../src/service/calls/store-writes.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { ServiceMeter } from '../../../src/service/monitoring/meter.ts';
import { StoreHealth } from '../../../src/service/monitoring/store-health.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore } from '../harness.ts';

export const REQUEST: BatchRequest = {
  operation: 'enrich',
  format: 'ndjson',
  options: {},
  metadata: null,
  webhookUrl: null,
  maxCredits: null,
};

export interface Alone {
  readonly store: Store;
  readonly path: string;
  /** The id of the only key. */
  readonly keyId: string;
  readonly batches: Batches;
}

/** @param clock the clock of the journal, monotonic milliseconds @param fill adds rows to the store */
export async function batchesAlone(
  more: Partial<BatchesOptions> = {},
  clock = (): number => performance.now(),
  fill?: (store: Store) => void,
): Promise<Alone> {
  const path = await makeStore(fill);
  await makeKey(path, 'enterprise');
  // Like a service, it does not block the thread while the store is busy.
  const store = openStore(path, 0);
  const keyId = String(store.books.prepare('SELECT id FROM keys').get()?.['id']);
  const directory = openDirectory(store);
  const journal = new Journal(store, () => undefined, clock);
  const batches = new Batches({
    store,
    path,
    clock: () => performance.now(),
    now: Date.now,
    arrived: () => 0,
    meter: new ServiceMeter(),
    log: null,
    journal,
    health: new StoreHealth(path, null),
    keys: new KeyRing(store, new KeyWrites(store, journal), clock),
    writes: new StoreWrites(store, journal),
    executeContext: {
      directory,
      evidence: directory,
      now: Date.now,
      verifier: { verify: async () => [] },
      webhooks: { isDevelopment: false } as Webhooks,
    },
    ...more,
  });
  cleanUp(async () => {
    batches.stop();
    await batches.ended();
    journal.close();
    store.close();
  });
  return { store, path, keyId, batches };
}
