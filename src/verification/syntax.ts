/** The waterfall's first stage: is this an address at all, and if not, why. Pure, linear in the length of the input. */
import { isLocalPart, MAX_LOCAL_OCTETS, normaliseEmail, normaliseLocalPart, spelledEmail, splitAddress } from './address.ts';
import { isAscii, toAsciiDomain } from './domain.ts';
import { isReserved } from './reserved.ts';

/**
 * `spelled`: the address for its mail host, with the local part in the case that was given (RFC 5321 2.4).
 * `literal`: a mailbox at an address literal (RFC 5321 4.1.3), which is valid and which no list, store or DNS knows.
 */
export type SyntaxFinding =
  | { readonly kind: 'valid'; readonly normalised: string; readonly spelled: string; readonly local: string; readonly domain: string; readonly smtputf8: boolean }
  | { readonly kind: 'literal'; readonly normalised: string; readonly smtputf8: boolean }
  | { readonly kind: 'invalid'; readonly detail: string; readonly meant: string | null };

const MAX_INPUT_LENGTH = 1024;

const IPV4_LITERAL = /^\[(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\])|(?=\]))){4}\]$/;
const IPV6_LITERAL = /^\[IPv6:([0-9a-f:.]{2,45})\]$/i;

/** Parses one address as it was sent. Never throws, whatever the input. */
export function checkSyntax(address: string): SyntaxFinding {
  const normalised = normaliseEmail(address);
  if (normalised !== null) {
    const at = normalised.lastIndexOf('@');
    const local = normalised.slice(0, at);
    const domain = normalised.slice(at + 1);
    return { kind: 'valid', normalised, spelled: spelledEmail(address) ?? normalised, local, domain, smtputf8: !isAscii(local) };
  }
  const tooLong = address.length > MAX_INPUT_LENGTH;
  const parts = tooLong ? null : splitAddress(address.trim());
  if (parts !== null && isLiteral(parts.domain)) {
    const local = normaliseLocalPart(parts.local);
    if (local !== null) return { kind: 'literal', normalised: `${local}@${parts.domain.toLowerCase()}`, smtputf8: !isAscii(local) };
  }
  const reserved = parts === null ? null : atReservedName(parts);
  if (reserved !== null) return reserved;
  return { kind: 'invalid', detail: tooLong ? 'far longer than an address may be' : whatIsWrong(address, parts), meant: tooLong ? null : repaired(address) };
}

/** A name without a dot is no mail domain. One that is reserved is let through, because the next stage knows why nobody gets mail there. */
function atReservedName({ local: given, domain }: { local: string; domain: string }): SyntaxFinding | null {
  const name = domain.toLowerCase().replace(/\.$/, '');
  const local = normaliseLocalPart(given);
  if (name.includes('.') || !isReserved(name, true) || local === null) return null;
  return { kind: 'valid', normalised: `${local}@${name}`, spelled: `${local}@${name}`, local, domain: name, smtputf8: !isAscii(local) };
}

function isLiteral(domain: string): boolean {
  if (IPV4_LITERAL.test(domain)) return true;
  const ipv6 = IPV6_LITERAL.exec(domain)?.[1];
  return ipv6 !== undefined && URL.canParse(`http://[${ipv6}]/`);
}

function whatIsWrong(address: string, parts: { local: string; domain: string } | null): string {
  if (address.trim() === '') return 'empty';
  if (parts === null) return 'needs a name, an @ and a domain';
  if (Buffer.byteLength(parts.local) > MAX_LOCAL_OCTETS) return `more than ${MAX_LOCAL_OCTETS} octets before the @`;
  if (!isLocalPart(parts.local)) return 'characters before the @ that an address cannot have there';
  if (!parts.domain.includes('.')) return 'the domain has no dot';
  return toAsciiDomain(parts.domain) === null ? 'the domain is no valid host name' : 'longer than an address may be';
}

/**
 * The address that was probably meant by one that is none, or null: without what mail programs put around addresses,
 * with signs of other keyboards (a full-width @) as the plain ones, without spaces, and with dots where a slip put commas.
 */
function repaired(address: string): string | null {
  let text = address.normalize('NFKC').trim();
  text = /<([^<>\s]{3,320})>/.exec(text)?.[1] ?? text;
  // Each expression begins where a row of its signs does: from within one, it would be looked through again and again.
  text = text.replace(/^mailto:/i, '').replaceAll(/(?<!\s)\s+(?=[@.])|(?<=[@.])\s+/g, '').replace(/^["'(<[]+/, '').replace(/(?<![\s.,;:>)\]"'])[\s.,;:>)\]"']+$/, '');
  const parts = splitAddress(text);
  if (parts === null) return null;
  const local = parts.local.replaceAll(/\.{2,}/g, '.').replace(/^\./, '').replace(/\.$/, '');
  return normaliseEmail(`${local}@${parts.domain.replaceAll(/[.,;]+/g, '.')}`);
}
