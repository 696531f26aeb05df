/**
 * Many addresses checked at once from this machine. Addresses of one domain are asked about together, each domain apart from the others,
 * so that a silent host delays its own addresses only. Results leave in the order of the keys.
 */
import { ReorderBuffer } from '../util/reorder-buffer.ts';
import type { GivenKey } from '../job/commands/one-off.ts';
import { Semaphore } from '../verification/dns/semaphore.ts';
import type { EmailVerification } from '../verification/types.ts';
import { inBatches } from './keys-from.ts';

interface WindowOptions {
  /** Keys that are read and not written yet, at most. */
  readonly size: number;
  /** Checks addresses of one domain; a result for each, in order. */
  readonly verify: (emails: readonly string[]) => Promise<readonly EmailVerification[]>;
  /** Called in the order of the keys. Null: the key has no text. */
  readonly write: (key: GivenKey, found: EmailVerification | null) => void;
  /** Null when more may be written, else a promise of that. */
  readonly room: () => Promise<void> | null;
}

interface Numbered {
  readonly number: number;
  readonly key: GivenKey;
  readonly email: string;
}

/** Domains asked about at once. The timeout of a domain starts when its turn comes. */
const MAX_DOMAINS = 1_000;
/** A list that comes slowly is not waited for longer than this, milliseconds. */
const IDLE_MS = 200;

/** Checks every key. @throws what `verify`, `room` or the keys throw, once nothing is under way any more */
export async function verifyInWindow(keys: AsyncGenerator<GivenKey>, { size, verify, write, room }: WindowOptions): Promise<void> {
  const written = new ReorderBuffer<{ readonly key: GivenKey; readonly found: EmailVerification | null }>();
  const underWay = new Set<Promise<void>>();
  const domains = new Semaphore(MAX_DOMAINS);
  const failures: unknown[] = [];
  let read = 0;
  let moved = Promise.withResolvers<void>();
  const put = (number: number, key: GivenKey, found: EmailVerification | null): void => {
    written.put(number, { key, found }, (one) => write(one.key, one.found));
    moved.resolve();
  };
  const check = async (group: readonly Numbered[]): Promise<void> => {
    try {
      const found = await verify(group.map(({ email }) => email));
      group.forEach(({ number, key }, index) => put(number, key, found[index] ?? null));
    } catch (error) {
      failures.push(error);
      moved.resolve();
    }
  };
  // At least half of the window at a time: addresses of one domain then come together, whatever their order in the list.
  for await (const batch of inBatches(keys, () => size - (read - written.released), IDLE_MS)) {
    const groups = new Map<string, Numbered[]>();
    for (const key of batch) {
      const number = read++;
      if (key.text === null) put(number, key, null);
      else {
        const domain = key.text.slice(key.text.lastIndexOf('@') + 1).toLowerCase();
        const group = groups.get(domain);
        if (group === undefined) groups.set(domain, [{ number, key, email: key.text }]);
        else group.push({ number, key, email: key.text });
      }
    }
    for (const group of groups.values()) {
      const work = domains.run(() => check(group)).finally(() => underWay.delete(work));
      underWay.add(work);
    }
    while (failures.length === 0 && read - written.released > size / 2) {
      await moved.promise;
      moved = Promise.withResolvers();
    }
    await room();
    if (failures.length > 0) break;
  }
  await Promise.all(underWay);
  if (failures.length > 0) throw failures[0];
}
