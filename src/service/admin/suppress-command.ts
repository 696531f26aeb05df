/** `millrace suppress`: erases people who asked to be removed. */
import { catchUp } from '../erasure/catch-up.ts';
import { nameOfStore } from '../store/owner/store-name.ts';
import { logErasures } from '../erasure/erasure-log.ts';
import { storeFailure } from '../store/failure.ts';
import { openExistingStore } from '../store/open-store.ts';
import { forgetLog, suppress, type SuppressCount } from '../erasure/suppress.ts';
import type { Store } from '../store/store.ts';

/** A command that writes may wait for an import; milliseconds. */
const WAIT_MS = 60_000;

/**
 * Suppresses addresses, batch by batch, and prints one line of JSON with the counts. `invalid` counts texts that are not an address.
 * @throws StorageError
 */
export async function suppressCommand(path: string, batches: AsyncIterable<readonly string[]>): Promise<{ invalid: number }> {
  let store: Store | null = null;
  try {
    let total: Omit<SuppressCount, 'invalid'> & { invalid: number } = {
      suppressed: 0,
      people: 0,
      signals: 0,
      deliveries: 0,
      shared: 0,
      invalid: 0,
    };
    for await (const emails of batches) {
      if (store === null) {
        store = openExistingStore(path, WAIT_MS);
        catchUp(store, nameOfStore(path));
      }
      const found = suppress(store, emails, undefined, (digests, atMs) => logErasures(nameOfStore(path), digests, atMs));
      total = {
        suppressed: total.suppressed + found.suppressed,
        people: total.people + found.people,
        signals: total.signals + found.signals,
        deliveries: total.deliveries + found.deliveries,
        shared: total.shared + found.shared,
        invalid: total.invalid + found.invalid.length,
      };
    }
    if (store !== null && !forgetLog(store))
      process.stderr.write(
        'millrace: the store is in use: what was erased is out of every answer, and leaves ' +
          'the log file beside the store when the store is closed or written to next.\n',
      );
    const { shared, ...counts } = total;
    if (shared > 0)
      process.stderr.write(
        `millrace: ${shared} of the addresses ${shared === 1 ? 'was' : 'were each'} of several people with different names: ` +
          'all of these people are erased\n',
      );
    process.stdout.write(`${JSON.stringify(shared > 0 ? { ...counts, shared } : counts)}\n`);
    return { invalid: total.invalid };
  } catch (error) {
    throw storeFailure(error, path);
  } finally {
    store?.close();
  }
}
