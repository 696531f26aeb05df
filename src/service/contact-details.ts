/** E-mail addresses and telephone numbers in texts that free answers show, such as a name or a description. Pure. */
import { splitAddress } from '../verification/address.ts';
import { addressesWithin } from './store/addresses-in.ts';

/** A number with its country: a plus (in links `%2B`) and 8 to 15 digits, blanks and signs between them. Without the plus it may be any number. */
const NUMBER = /(?:\+|%2b)[1-9](?:[\s().\-/]{0,3}\d){7,14}(?!\d)/gi;
const ANY_WORD = /[\p{L}\p{N}]/u;

/** The text without them, each cut out up to the next blank; empty where no other word is left. Itself where there is none. */
export function withoutContacts(text: string): string {
  if (!text.includes('@') && !text.includes('+') && !text.includes('%')) return text;
  const left = text.split(/(\s+)/).map((run) => (holdsAddress(run) ? ' ' : run)).join('').replaceAll(NUMBER, ' ');
  if (left === text) return holdsAddress(text) ? '' : text;
  // A part of a link leads nowhere, and what is put together anew may be an address or a number again.
  if (!/\s/.test(text) || holdsAddress(left) || left.search(NUMBER) !== -1 || !ANY_WORD.test(left)) return '';
  return left.replaceAll(/ {2,}/g, ' ').trim();
}

/** Whether an e-mail address is in a text. `https://video.example/@acme.official` has none, and neither has the pattern `{first}@acme.example`. */
export function holdsAddress(text: string): boolean {
  if (!text.includes('@') && !text.includes('%40')) return false;
  return addressesWithin(text).some((address) => !/[/{]/.test(splitAddress(address)?.local ?? ''));
}
