/** Whether a stored answer, request or event names a person who was erased after it was made. */
import { normaliseEmail } from '../../../verification/address.ts';
import { addressesIn } from '../../records/addresses-in.ts';
import { signalsIn, type Named } from './named-people.ts';
import type { Store } from '../store.ts';
import { suppressionKey, suppressionKeys } from './suppressions.ts';

export interface ErasedSince {
  /** Whether anybody was erased at or after this time (epoch milliseconds). If not, the other questions need not be asked. */
  anybody(atMs: number): boolean;
  /** Whether the person with this address was erased, however the address is written. */
  address(given: string, atMs: number): boolean;
  /** Whether a JSON text has the address of an erased person. */
  text(text: string, atMs: number): boolean;
  /** Whether an answer names an erased person, directly or in a company's signal. */
  answer(answer: { readonly text: string; readonly named: Named }, atMs: number): boolean;
}

export function erasedSince(store: Store): ErasedSince {
  const anybody = store.books.prepare('SELECT 1 FROM suppressions WHERE at >= ? LIMIT 1');
  const find = store.books.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ? AND at >= ?');
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
      // Only an erasure removes a signal, so a missing one is erased.
      return (
        keys.some((key) => isErased(key, atMs)) ||
        emails.some((email) => address(email, atMs)) ||
        text(json, atMs) ||
        [...signals, ...signalsIn(json)].some((id) => findSignal.get(id) === undefined)
      );
    },
  };
}
