/**
 * Extracts keys from text as people write and paste it: `mailto:a@b.com`, `Jo <a@b.com>`, `a@b.com;`, full-width or invisible characters.
 * Only unambiguous text is cleaned; typos (`a@b,com`, `jo smith@b.com`) are never corrected. Pure.
 */
import { normaliseEmail, spelledEmail } from './address.ts';
import { isAscii, normaliseDomain } from './domain.ts';

/** Longer input is not cleaned. The same bound as for an address with spaces around it. */
const MAX_LENGTH = 1_024;

/** Full-width forms of printable ASCII (U+FF01 to U+FF5E) stand 0xFEE0 above it. */
const FULL_WIDTH = /[\uff01-\uff5e]/g;
const FULL_WIDTH_OFFSET = 0xfee0;
/** Small and ideographic forms of the characters that separate the parts of a key. */
const OTHER_FORMS: Readonly<Record<string, string>> = {
  '\ufe6b': '@',
  '\ufe52': '.',
  '\u3002': '.',
  '\uff61': '.',
  '\ufe50': ',',
  '\ufe54': ';',
  '\u3001': ',',
};
const OTHER_FORM = /[\ufe6b\ufe52\u3002\uff61\ufe50\ufe54\u3001]/g;
/** Spaces of all kinds, line ends, tabs and controls. */
const SPACES = /[\p{Z}\p{Cc}]+/gu;
/** ASCII whitespace around a cell, which does not count as cleaning. */
const ASCII_SPACES_AROUND = /^[\t-\r ]+|[\t-\r ]+$/g;
/** Zero-width characters, byte order marks, soft hyphens, direction marks, fillers. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * The visible text: full-width forms as ASCII, each run of spaces as one, nothing invisible, no spaces at its ends, and without what
 * spreadsheets put around a text: `="a@b.com"`, `=HYPERLINK("mailto:a@b.com")`, an apostrophe before a sign.
 */
export function visibleText(text: string): string {
  const visible = isAscii(text) ? text : fullWidthToAscii(text).replaceAll(INVISIBLE, '');
  const bare = visible.replaceAll(SPACES, ' ').trim();
  const first = bare[0];
  return first === '=' || first === "'" ? outOfSpreadsheet(bare) : bare;
}

/** A text as a formula, which keeps a program from reading it as a number. */
const TEXT_FORMULA = /^=(?:T\()?"(.*?)"\)?$/;
const LINK_FORMULA = /^=HYPERLINK\( ?"([^"]*)"/i;
/** Apostrophes that keep a program from reading a sign as a formula, and the sign. */
const QUOTED_SIGN = /^'+(?=[=+@-])/;

function outOfSpreadsheet(text: string): string {
  const bare = text.replace(QUOTED_SIGN, '');
  const formula = (TEXT_FORMULA.exec(bare) ?? LINK_FORMULA.exec(bare))?.[1];
  return formula === undefined ? bare : formula.replaceAll('""', '"').trim();
}

function fullWidthToAscii(text: string): string {
  return text
    .replaceAll(FULL_WIDTH, (char) => String.fromCharCode(char.charCodeAt(0) - FULL_WIDTH_OFFSET))
    .replaceAll(OTHER_FORM, (char) => OTHER_FORMS[char] ?? char);
}

/** True for a cell that is empty or has only spaces and invisible characters. */
export function isBlank(text: string): boolean {
  return text.trim() === '' || (text.length <= MAX_LENGTH && (!isAscii(text) || text.includes('=')) && visibleText(text) === '');
}

/** The mailbox that a text names, as `normaliseEmail` writes it. */
export interface AddressInText {
  readonly key: string;
  /** The address in its original case, which its mail host may distinguish. */
  readonly spelled: string;
  /** True when the text differed from the key in more than ASCII spaces and upper case. */
  readonly cleaned: boolean;
}

/** The first address in a text, cleaned if necessary. Null when the text has no address, or an ambiguous one. */
export function addressIn(text: string): AddressInText | null {
  const plain = normaliseEmail(text);
  if (plain !== null && isAscii(text))
    return { key: plain, spelled: spelledEmail(text) ?? plain, cleaned: withoutAsciiSpaces(text).endsWith('.') };
  if (text.length > MAX_LENGTH) return null;
  if (plain !== null) {
    // A valid address may keep its joiners, which some scripts need. Full-width letters and typographic quotes are never part of one.
    const bare = unwrapped(fullWidthToAscii(text));
    const key = normaliseEmail(bare) ?? plain;
    const domain = text.slice(text.lastIndexOf('@') + 1).trim();
    return {
      key,
      spelled: spelledEmail(bare) ?? spelledEmail(text) ?? plain,
      cleaned: key !== plain || domain !== visibleText(domain) || domain.endsWith('.') || withoutAsciiSpaces(text) !== text.trim(),
    };
  }
  const spelled = cleanAddress(visibleText(text));
  const key = spelled === null ? null : normaliseEmail(spelled);
  return spelled === null || key === null ? null : { key, spelled, cleaned: true };
}

/** @param text at most `MAX_LENGTH` long, because the time is quadratic in its spaces */
function withoutAsciiSpaces(text: string): string {
  return text.replace(ASCII_SPACES_AROUND, '');
}

function cleanAddress(text: string): string | null {
  const bracketed = /<([^<>]*@[^<>]*)>/.exec(text)?.[1];
  if (bracketed !== undefined) return oneAddress(bracketed);
  const whole = oneAddress(text);
  if (whole !== null) return whole;
  const parts = listed(text);
  // A part without an @ may belong to its neighbour: `smith, john@acme.com` is ambiguous.
  if (parts.length < 2 || !parts.every((part) => part.includes('@'))) return null;
  for (const part of parts) {
    const address = oneAddress(part);
    if (address !== null) return address;
  }
  return null;
}

/** The members of a list. Spaces separate members only when each member has an @. */
function listed(text: string): string[] {
  const parts = text
    .split(/[,;|]| \/ /)
    .map((part) => part.trim())
    .filter((part) => part !== '');
  return parts.flatMap((part) => {
    const words = part.split(' ');
    return words.every((word) => /[^@]@[^@]/.test(word)) ? words : [part];
  });
}

/** Exchange writes `SMTP:`; address books and web pages write the others. */
const ADDRESS_SCHEME = /^(?:mailto|smtp|e-?mail|mail) ?: ?(?:\/\/)?/i;

function oneAddress(text: string): string | null {
  const bare = unwrapped(text);
  const scheme = ADDRESS_SCHEME.exec(bare)?.[0];
  if (scheme === undefined) return spelledEmail(bare.replace(/ ?@ ?/, '@'));
  const link = bare.slice(scheme.length).replace(/\?.*$/, '');
  return spelledEmail(unwrapped(percentDecoded(link)));
}

function percentDecoded(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return visibleText(decodeURIComponent(text));
  } catch {
    return text;
  }
}

const OPENING = '<([{"\u201c\u2018\u00ab\u2039\u300c\u3008';
const CLOSING = '>)]}"\'\u201d\u2019\u00bb\u203a\u300d\u3009.,;:!?|\\ ';

/** The text without comments in parentheses, quotes, brackets and punctuation at its ends. Linear in its length. */
export function unwrapped(text: string): string {
  let rest = text.trim();
  rest = rest.replace(/^\([^()@]*\) ?(?=.)/, '').replace(/(?<=.) ?\([^()@]*\)$/, '');
  let from = 0;
  let to = rest.length;
  while (from < to && (OPENING.includes(rest[from] ?? '') || rest[from] === ' ')) from += 1;
  // An apostrophe may begin an address. With another one at the end, both are quotes.
  if (rest[from] === "'" && rest[to - 1] === "'") from += 1;
  while (to > from && CLOSING.includes(rest[to - 1] ?? '')) to -= 1;
  return rest.slice(from, to);
}

/** `http//a.com`, `https:/a.com`, `http;//a.com`, and a scheme before another. */
const MALFORMED_SCHEME = /^(?:https?(?:[:;] ?[\\/]{0,2}|[\\/]{2}))+/i;

/** A URL without malformed or repeated schemes; other text unchanged. */
export function withoutMalformedScheme(text: string): string {
  return text.replace(MALFORMED_SCHEME, '');
}

/**
 * The first domain in a text, cleaned if necessary and normalised as by `normaliseDomain`. Null when there is none.
 * @param isUsable leaves domains out; it also gets the text that the domain was read from
 */
export function domainIn(text: string, isUsable: (domain: string, given: string) => boolean = () => true): string | null {
  const plain = normaliseDomain(text);
  if (plain !== null && isUsable(plain, text)) return plain;
  if (text.length > MAX_LENGTH) return null;
  for (const part of visibleText(text).split(/[,;|] ?| \/ | (?=(?:https?:|www\.))/i)) {
    const given = withoutMalformedScheme(unwrapped(part));
    const key = normaliseDomain(given);
    if (key !== null && isUsable(key, given)) return key;
    if (part.includes('@')) return null;
  }
  return null;
}
