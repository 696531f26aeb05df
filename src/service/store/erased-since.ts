/** Answers are remembered for a day: whether one names somebody who was erased after it was given. */
import { normaliseEmail } from '../../verification/address.ts';
import { addressesIn } from './addresses-in.ts';
import { signalsIn, type Named } from './named.ts';
import type { Store } from './store.ts';
import { suppressionKey, suppressionKeys } from './suppressions.ts';

export interface ErasedSince {
  /** Whether anybody was erased at that time, epoch milliseconds, or later: nothing else need be asked where nobody was. */
  anybody(atMs: number): boolean;
  /** Whether whoever has this address was, however it is written. */
  address(given: string, atMs: number): boolean;
  /** Whether somebody was whose address is in the text, which is JSON. */
  text(text: string, atMs: number): boolean;
  /** Whether somebody was whom an answer names, be it in a signal of a company. */
  answer(answer: { readonly text: string; readonly named: Named }, atMs: number): boolean;
}

export function erasedSince(store: Store): ErasedSince {
  const anybody = store.prepare('SELECT 1 FROM suppressions WHERE at >= ? LIMIT 1');
  const find = store.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ? AND at >= ?');
  const findSignal = store.prepare('SELECT 1 FROM signals WHERE id = ?');
  const isErased = (key: Uint8Array, atMs: number): boolean => find.get(key, atMs) !== undefined;
  const address = (given: string, atMs: number): boolean => {
    const email = normaliseEmail(given);
    return email !== null && isErased(suppressionKey(email), atMs);
  };
  const text: ErasedSince['text'] = (json, atMs) => addressesIn(json).some((email) => address(email, atMs));
  return {
    anybody: (atMs) => anybody.get(atMs) !== undefined,
    address,
    text,
    answer: ({ text: json, named: { people = [], profiles = [], emails = [], signals = [] } }, atMs) => {
      if (anybody.get(atMs) === undefined) return false;
      const keys = [...people.map((id) => ({ id, knownId: id })), ...profiles.map((profile) => ({ profile }))].flatMap(suppressionKeys);
      // Nothing but an erasure removes a signal.
      return keys.some((key) => isErased(key, atMs)) || emails.some((email) => address(email, atMs)) || text(json, atMs) || [...signals, ...signalsIn(json)].some((id) => findSignal.get(id) === undefined);
    },
  };
}

/** Returns when the newest was made of all that is asked whether it names somebody who was erased since, epoch milliseconds by whatever clock; 0: there is nothing. */
export function newestAsked(store: Store): () => number {
  const newest = store.prepare(`
    SELECT max(at) AS at FROM (
      SELECT max(at) AS at FROM answers UNION ALL SELECT max(started_at) FROM verifications UNION ALL SELECT max(created_at) FROM webhook_deliveries
      UNION ALL SELECT max(max(created_at, coalesce(looked_at, 0))) FROM batches)`);
  return () => Number(newest.get()?.['at']);
}
