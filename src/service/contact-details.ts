/** E-mail addresses and telephone numbers in texts that free answers show, such as a name or a description. Pure. */
import { splitAddress } from '../verification/address.ts';
import { isAscii } from '../verification/domain.ts';
import { addressesWithin } from './store/addresses-in.ts';

/** A number with its country: a plus (in links `%2B`) and 8 to 15 digits, blanks and signs between them. Without the plus it may be any number. */
const NUMBER = /(?:\+|%2b)[1-9](?:[\s().\-\u2010-\u2015\u2212/]{0,3}\d){7,14}(?!\d)/gi;
/** What else stands for `@`, `+` and `%`: full-width, small or raised (compatibility forms of Unicode). */
const OTHER_SIGN = /[\uff20\ufe6b\uff0b\ufe62\u207a\u208a\uff05\ufe6a]/;
/** Nobody sees it, and a mail program drops it. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
const ANY_WORD = /[\p{L}\p{N}]/u;

/** The text without them, each cut out up to the next blank; empty where no other word is left. Itself where there is none. */
export function withoutContacts(text: string): string {
  if (!text.includes('@') && !text.includes('+') && !text.includes('%') && !OTHER_SIGN.test(text)) return text;
  const plain = plainForm(text);
  const left = cutFrom(plain);
  if (left !== plain) return left;
  return plain === text ? text : cutFrom(text);
}

/** As it is read: full-width letters and signs as usual ones, and nothing that cannot be seen. */
function plainForm(text: string): string {
  return isAscii(text) ? text : text.normalize('NFKC').replaceAll(UNSEEN, '');
}

function cutFrom(text: string): string {
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
