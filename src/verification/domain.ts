/** Normalises domain names and URLs to one form for comparison and lookup. Pure. */
import { domainToASCII, domainToUnicode } from 'node:url';

/** RFC 1035 2.3.4: 255 octets on the wire, which leaves 253 characters in text. */
const MAX_DOMAIN_LENGTH = 253;
/** RFC 1035 2.3.4. */
const MAX_LABEL_LENGTH = 63;
/** A longer website cell is not a URL and is not parsed. */
const MAX_INPUT_LENGTH = 2048;

const SCHEME = /^(?:[a-z][a-z0-9+.-]{0,20}:)?[\\/]{2}/i;
const PORT = /:\d{0,5}$/;

const DOT = 0x2e;
const HYPHEN = 0x2d;

/**
 * Checks for a host name in the letters-digits-hyphen form of RFC 1123 2.1, with at least one dot, in ASCII and lower case. The last label
 * must begin with a letter, or the name would be an IP address (RFC 3696 2). @param from where the name begins in the text
 */
export function isHostName(text: string, from = 0): boolean {
  const length = text.length;
  if (length - from < 4 || length - from > MAX_DOMAIN_LENGTH) return false;
  let labelStart = from;
  let dots = 0;
  for (let i = from; i <= length; i++) {
    const c = i === length ? DOT : text.charCodeAt(i);
    if (c === DOT) {
      const size = i - labelStart;
      if (size === 0 || size > MAX_LABEL_LENGTH || text.charCodeAt(i - 1) === HYPHEN) return false;
      if (i < length) {
        dots++;
        labelStart = i + 1;
      }
    } else if (c === HYPHEN) {
      if (i === labelStart) return false;
    } else if (!((c >= 0x61 && c <= 0x7a) || (c >= 0x30 && c <= 0x39))) {
      return false;
    }
  }
  if (dots === 0 || length - labelStart < 2) return false;
  const first = text.charCodeAt(labelStart);
  return first >= 0x61 && first <= 0x7a;
}

/**
 * A bare domain (no scheme, port or path) in lower case with A-labels (IDNA as WHATWG URL applies it), without the root's trailing dot;
 * null when it is not a plausible domain.
 */
export function toAsciiDomain(domain: string): string | null {
  // The Unicode form is never longer than the ASCII form; 64 more allow for characters that the mapping drops.
  if (domain.length > MAX_DOMAIN_LENGTH + 64) return null;
  let host = domain.toLowerCase();
  if (!isAscii(host)) {
    // ASCII characters that would end the host for a URL parser (`/`, `:`, `%41`) must not reach it.
    if (/[\0-,/:-@[-`{-\x7f]/.test(host)) return null;
    host = domainToASCII(host);
  } else if (host.includes('xn--')) {
    if (/[^a-z0-9.-]/.test(host)) return null;
    host = domainToASCII(host);
  }
  // Node accepts A-labels that decode to nothing or to another A-label. Decoding reveals both.
  if (host.includes('xn--') && domainToUnicode(host).includes('xn--')) return null;
  if (host.endsWith('.')) host = host.slice(0, -1);
  return isHostName(host) ? host : null;
}

/** Fast check that a text is such a domain already, as most are. False decides nothing. @param from where the domain begins in the text */
export function isPlainAsciiDomain(text: string, from = 0): boolean {
  return isHostName(text, from) && !text.includes('xn--', from);
}

/** Fast check that `normaliseDomain` would not change the text. False decides nothing. */
export function isPlainDomain(text: string): boolean {
  return isPlainAsciiDomain(text) && !text.startsWith('www.');
}

/**
 * The domain in `s`, which may be a URL: removes scheme, credentials, port, path, `www.` and trailing dot, lower-cases, applies IDNA.
 * Null without a plausible domain: it needs a dot, and must not be an IP address or an e-mail address.
 */
export function normaliseDomain(s: string): string | null {
  if (s.length > MAX_INPUT_LENGTH) return null;
  let host = s.trim();
  if (host === '') return null;
  const scheme = SCHEME.exec(host);
  if (scheme !== null) host = host.slice(scheme[0].length);
  const end = host.search(/[/\\?#]/);
  if (end !== -1) host = host.slice(0, end);
  // Only a URL has credentials. Without a scheme this is an e-mail address, perhaps of a mail provider.
  const at = host.lastIndexOf('@');
  if (at !== -1) {
    if (scheme === null) return null;
    host = host.slice(at + 1);
  }
  const ascii = toAsciiDomain(host.replace(PORT, ''));
  if (ascii === null) return null;
  if (ascii.startsWith('www.') && isHostName(ascii.slice(4))) return ascii.slice(4);
  return ascii;
}

/** Whether `s` has ASCII characters only. */
export function isAscii(s: string): boolean {
  for (let i = 0; i < s.length; i++) if (s.charCodeAt(i) > 0x7f) return false;
  return true;
}
