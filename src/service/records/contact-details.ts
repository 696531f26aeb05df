/** Removes e-mail addresses and telephone numbers from texts that free answers show, such as a name or a description. Pure. */
import { splitAddress } from '../../verification/address.ts';
import { isAscii } from '../../verification/domain.ts';
import { addressesWithin } from './addresses-in.ts';

/**
 * An international number: a plus (`%2B` in links) and 8 to 15 digits with blanks and signs between them. Without the plus it may be any
 * number.
 */
const NUMBER = /(?:\+|%2b)[1-9](?:[\s().\-\u2010-\u2015\u2212/]{0,3}\d){7,14}(?!\d)/gi;
/** `@`, `+` and `%`, and their full-width, small and raised forms. */
const SIGN = /[@+%\uff20\ufe6b\uff0b\ufe62\u207a\u208a\uff05\ufe6a]/;
/** Invisible characters, which mail programs ignore. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}/gu;
const ANY_WORD = /[\p{L}\p{N}]/u;

/**
 * The text without addresses and numbers, each removed up to the next blank; empty if no word is left, and the same text if it has none.
 */
export function withoutContacts(text: string): string {
  if (!SIGN.test(text)) return text;
  const plain = plainForm(text);
  const left = cutFrom(plain);
  if (left !== plain) return left;
  return plain === text ? text : cutFrom(text);
}

/** The text as it is read: full-width characters in their usual form, invisible ones removed. */
function plainForm(text: string): string {
  return isAscii(text) ? text : text.normalize('NFKC').replaceAll(UNSEEN, '');
}

function cutFrom(text: string): string {
  const left = text
    .split(/(\s+)/)
    .map((run) => (holdsAddress(run) ? ' ' : run))
    .join('')
    .replaceAll(NUMBER, ' ');
  if (left === text) return holdsAddress(text) ? '' : text;
  // A part of a link leads nowhere, and joining the rest may form an address or number again.
  if (!/\s/.test(text) || holdsAddress(left) || left.search(NUMBER) !== -1 || !ANY_WORD.test(left)) return '';
  return left.replaceAll(/ {2,}/g, ' ').trim();
}

/** Whether a text has an e-mail address. `https://video.example/@acme.official` has none, nor has the pattern `{first}@acme.example`. */
export function holdsAddress(text: string): boolean {
  if (!text.includes('@') && !text.includes('%40')) return false;
  return addressesWithin(text).some((address) => !/[/{]/.test(splitAddress(address)?.local ?? ''));
}
