/** Answers are remembered for a day: whether one names somebody who was erased after it was given. */
import { MAX_ADDRESS_OCTETS, normaliseEmail } from '../../verification/address.ts';
import { suppressionKey } from './suppressions.ts';
import type { Store } from './store.ts';

/** What may be an address within JSON or a sentence. Bounded: what is longer is none, and would be looked at again from each of its characters. */
const ADDRESS = new RegExp(String.raw`[^\s"\\<>,:;]{1,${MAX_ADDRESS_OCTETS}}@[^\s"\\<>,:;]{1,${MAX_ADDRESS_OCTETS}}`, 'g');

export interface ErasedSince {
  /** Whether anybody was erased at that time, epoch milliseconds, or later: nothing else need be asked where nobody was. */
  anybody(atMs: number): boolean;
  /** Whether whoever has this address was, however it is written. */
  address(given: string, atMs: number): boolean;
  /** Whether somebody was whose address is in the text. */
  text(text: string, atMs: number): boolean;
}

export function erasedSince(store: Store): ErasedSince {
  const anybody = store.prepare('SELECT 1 FROM suppressions WHERE at >= ? LIMIT 1');
  const find = store.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ? AND at >= ?');
  const address = (given: string, atMs: number): boolean => {
    const email = normaliseEmail(given);
    return email !== null && find.get(suppressionKey(email), atMs) !== undefined;
  };
  return {
    anybody: (atMs) => anybody.get(atMs) !== undefined,
    address,
    text: (text, atMs) => (text.match(ADDRESS) ?? []).some((email) => address(email, atMs)),
  };
}
