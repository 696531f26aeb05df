/** Batch jobs without a service around them, on a store of their own. */
import type { Webhooks } from '../../../src/service/webhooks/webhooks.ts';
import { Batches, type BatchesOptions } from '../../../src/service/batches/batches.ts';
import type { BatchRequest } from '../../../src/service/batches/request.ts';
import { KeyRing } from '../../../src/service/key-ring.ts';
import { StoreWrites } from '../../../src/service/store-writes.ts';
import { openDirectory } from '../../../src/service/store/directory.ts';
import { Journal } from '../../../src/service/store/journal.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { ServiceMeter } from '../../../src/service/watch/meter.ts';
import { StoreHealth } from '../../../src/service/watch/store-health.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { makeKey, makeStore } from '../harness.ts';

export const REQUEST: BatchRequest = { operation: 'enrich', format: 'ndjson', options: {}, metadata: null, webhookUrl: null, maxCredits: null };

export interface Alone {
  readonly store: Store;
  readonly path: string;
  /** Of the one key there is. */
  readonly keyId: string;
  readonly batches: Batches;
}

/** @param clock of the journal, monotonic milliseconds @param fill what else is in the store */
export async function batchesAlone(more: Partial<BatchesOptions> = {}, clock = (): number => performance.now(), fill?: (store: Store) => void): Promise<Alone> {
  const path = await makeStore(fill);
  await makeKey(path, 'enterprise');
  // As a service has it: who is busy is not waited for with the thread.
  const store = openStore(path, 0);
  const keyId = String(store.prepare('SELECT id FROM keys').get()?.['id']);
  const directory = openDirectory(store);
  const journal = new Journal(store, () => undefined, clock);
  const batches = new Batches({
    store, path, clock: () => performance.now(), now: Date.now, arrived: () => 0, meter: new ServiceMeter(), log: null,
    journal,
    health: new StoreHealth(path, null),
    keys: new KeyRing(store, journal, clock),
    writes: new StoreWrites(store, journal),
    performing: { directory, evidence: directory, now: Date.now, verifier: { verify: async () => [] }, webhooks: { isDevelopment: false } as Webhooks },
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
