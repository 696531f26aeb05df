/** What may be e-mail addresses within JSON as `JSON.stringify` writes it, wherever they stand in it. Pure. */
import { MAX_ADDRESS_OCTETS } from '../../verification/address.ts';

/** Within a sentence, too. Bounded: what is longer is none, and would be looked at again from each of its characters. */
const PLAIN = new RegExp(String.raw`[^\s"\\<>,:;]{1,${MAX_ADDRESS_OCTETS}}@[^\s"\\<>,:;]{1,${MAX_ADDRESS_OCTETS}}`, 'g');
/** A quote within a text of JSON; the last one of a local part stands before `@`. */
const QUOTE = String.raw`\"`;
const DOMAIN = new RegExp(String.raw`[^\s"\\<>,:;]{1,${MAX_ADDRESS_OCTETS}}`, 'y');
/** Characters of a quoted local part, each of which JSON may write as six; and quotes in it that may be its first. */
const MAX_QUOTED = 6 * 64;
const MAX_QUOTES = 32;

export function addressesIn(json: string): string[] {
  return [...(json.match(PLAIN) ?? []), ...quotedIn(json)];
}

/** `"jane doe"@acme.example`: a quoted local part may have blanks and quotes in it (RFC 5321 4.1.2), so each quote before is tried as its first. */
function* quotedIn(json: string): Generator<string> {
  for (let end = json.indexOf(`${QUOTE}@`); end !== -1; end = json.indexOf(`${QUOTE}@`, end + 1)) {
    DOMAIN.lastIndex = end + QUOTE.length + 1;
    const [domain] = DOMAIN.exec(json) ?? [];
    if (domain === undefined) continue;
    let from = json.lastIndexOf(QUOTE, end - 1);
    for (let tried = 0; from !== -1 && end - from <= MAX_QUOTED && tried < MAX_QUOTES; tried++) {
      const local = unescaped(json.slice(from, end + QUOTE.length));
      if (local !== null) yield `${local}@${domain}`;
      from = from === 0 ? -1 : json.lastIndexOf(QUOTE, from - 1);
    }
  }
}

function unescaped(part: string): string | null {
  try {
    return JSON.parse(`"${part}"`) as string;
  } catch {
    return null;
  }
}
