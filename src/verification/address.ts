/** Validates e-mail addresses and normalises them to keys that identify a mailbox. Pure. */
import { isAscii, isPlainAsciiDomain, toAsciiDomain } from './domain.ts';

/** RFC 5321 4.5.3.1.1, in octets. */
export const MAX_LOCAL_OCTETS = 64;
/** RFC 5321 4.5.3.1.3 allows a path of 256 octets with its angle brackets (RFC 3696, erratum 1690). */
export const MAX_ADDRESS_OCTETS = 254;
/** Longer input is not an address, even with spaces around it, and is not parsed. */
const MAX_INPUT_LENGTH = 1024;

const DOT = 0x2e;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** RFC 5322 3.2.3 atext, by character code. */
const ATEXT: readonly boolean[] = Array.from({ length: 128 }, (_, code) => /[a-z0-9!#$%&'*+\-/=?^_`{|}~]/i.test(String.fromCharCode(code)));

/** RFC 6531 3.3 allows any non-ASCII character in a local part, but invisible ones are never intended. */
const INVISIBLE = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}]/v;

/**
 * Joiners and variation selectors that a script or an emoji needs. Persian and Hindi words are spelt with joiners (after RFC 5892,
 * appendix A); after Latin, Greek or Cyrillic letters they are only hidden characters.
 */
const NEEDED_JOINERS = new RegExp(
  String.raw`(?<=[[\p{L}\p{M}]--[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]])[\u200c\u200d]|` +
    String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}])\ufe0f?\u200d?|(?<=\p{Extended_Pictographic})\ufe0e`,
  'gv',
);

/** A combining mark without a base letter (RFC 5891 4.2.3.2 forbids it in labels, too). */
const STRAY_MARK = /(?:^|\.)\p{M}/u;

/** The local part and the domain of a trimmed address; null unless it has both. */
export function splitAddress(address: string): { local: string; domain: string } | null {
  const at = address.lastIndexOf('@');
  if (at <= 0 || at === address.length - 1) return null;
  return { local: address.slice(0, at), domain: address.slice(at + 1) };
}

/**
 * Whether `local` is a dot-atom or a quoted string (RFC 5321 4.1.2, with the UTF-8 of RFC 6531) of at most 64 octets.
 * Linear in its length.
 */
export function isLocalPart(local: string): boolean {
  const length = local.length;
  if (length === 0 || length > MAX_LOCAL_OCTETS) return false;
  if (!isAscii(local)) {
    if (Buffer.byteLength(local) > MAX_LOCAL_OCTETS || STRAY_MARK.test(local)) return false;
    if (INVISIBLE.test(local.replaceAll(' ', '').replaceAll(NEEDED_JOINERS, ''))) return false;
  }
  if (local.charCodeAt(0) === QUOTE) return isQuotedString(local);
  let previous = DOT;
  for (let i = 0; i < length; i++) {
    const c = local.charCodeAt(i);
    if (c === DOT) {
      if (previous === DOT) return false;
    } else if (c < 128 && ATEXT[c] !== true) {
      return false;
    }
    previous = c;
  }
  return previous !== DOT;
}

function isQuotedString(local: string): boolean {
  const last = local.length - 1;
  if (last < 2 || local.charCodeAt(last) !== QUOTE) return false;
  for (let i = 1; i < last; i++) {
    let c = local.charCodeAt(i);
    if (c === BACKSLASH) {
      i++;
      if (i === last) return false;
      c = local.charCodeAt(i);
    } else if (c === QUOTE) {
      return false;
    }
    if (c < 0x20 || c === 0x7f) return false;
  }
  return true;
}

/** A quoted local part in its shortest form: quotes and backslashes that change nothing are left out (RFC 5321 4.1.2). */
function shortestForm(local: string): string {
  if (local.charCodeAt(0) !== QUOTE) return local;
  const content = local.slice(1, -1).replaceAll(/\\(.)/gsu, '$1');
  if (content.charCodeAt(0) !== QUOTE && isLocalPart(content)) return content;
  return `"${content.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** The local part for its mail host: in its original case, NFC, quoted only where necessary. Null when it is invalid. */
function spelledLocalPart(given: string): string | null {
  const local = isAscii(given) ? given : given.normalize('NFC');
  return isLocalPart(local) ? shortestForm(local) : null;
}

/** The local part for comparison: lower case, NFC, quoted only where necessary. Null when it is invalid. */
export function normaliseLocalPart(given: string): string | null {
  return spelledLocalPart(given.toLowerCase());
}

/**
 * The key of the mailbox that `s` names: trimmed, lower case, NFC, without needless quotes, the domain in A-labels without a trailing dot.
 * Null when `s` is not a plausible address, for instance too long, without a dot in the domain, or with an address literal.
 * The contract lowers the case of local parts: RFC 5321 2.4 makes it significant, but no mail system in use does.
 */
export function normaliseEmail(s: string): string | null {
  return isPlainEmail(s) ? s : inForm(s, normaliseLocalPart);
}

/**
 * The mailbox of an address, for comparison with an answer: the key without its tag (`jane+news@`, RFC 5233). Null for text that is no
 * address.
 */
export function mailboxKey(s: string): string | null {
  return normaliseEmail(s)?.replace(/(?<=.)\+[^@]*(?=@)/, '') ?? null;
}

/** The address that `s` names, for its mail host: like the key, but with the local part in its original case (RFC 5321 2.4). */
export function spelledEmail(s: string): string | null {
  return isPlainEmail(s) ? s : inForm(s, spelledLocalPart);
}

function inForm(s: string, localForm: (local: string) => string | null): string | null {
  if (s.length > MAX_INPUT_LENGTH) return null;
  const parts = splitAddress(s.trim());
  if (parts === null) return null;
  const local = localForm(parts.local);
  if (local === null) return null;
  const domain = toAsciiDomain(parts.domain);
  if (domain === null) return null;
  // The domain is ASCII by now; only the local part may be longer in octets than in characters.
  if (Buffer.byteLength(local) + 1 + domain.length > MAX_ADDRESS_OCTETS) return null;
  return `${local}@${domain}`;
}

/** Fast check that a text is such a key already, as most are. False decides nothing. */
function isPlainEmail(text: string): boolean {
  const at = text.indexOf('@');
  if (at < 1 || at > MAX_LOCAL_OCTETS || text.length > MAX_ADDRESS_OCTETS) return false;
  let previous = DOT;
  for (let i = 0; i < at; i++) {
    const c = text.charCodeAt(i);
    if (c === DOT ? previous === DOT : !isPlainAtext(c)) return false;
    previous = c;
  }
  return previous !== DOT && isPlainAsciiDomain(text, at + 1);
}

/** True for an atext character other than an upper-case letter. */
function isPlainAtext(code: number): boolean {
  return ATEXT[code] === true && (code < 0x41 || code > 0x5a);
}
