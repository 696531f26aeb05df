/** The first stage of the waterfall: checks the syntax of an address and names its error. Pure, linear in the length of the input. */
import { isLocalPart, MAX_LOCAL_OCTETS, normaliseEmail, normaliseLocalPart, spelledEmail, splitAddress } from './address.ts';
import { addressIn, unwrapped, visibleText } from './clean-keys.ts';
import { isAscii, toAsciiDomain } from './domain.ts';
import { isReserved } from './reserved.ts';

/**
 * `spelled`: the address for its mail host, with the local part in its original case (RFC 5321 2.4).
 * `literal`: a mailbox at an address literal (RFC 5321 4.1.3), which is valid but in no list, store or DNS.
 */
type SyntaxFinding =
  | {
      readonly kind: 'valid';
      readonly normalised: string;
      readonly spelled: string;
      readonly local: string;
      readonly domain: string;
      readonly smtputf8: boolean;
    }
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
  return {
    kind: 'invalid',
    detail: tooLong ? 'far longer than an address may be' : syntaxError(address, parts),
    meant: tooLong ? null : repaired(address),
  };
}

/** A reserved name without a dot, such as `localhost`, passes: the next stage reports why it gets no mail. */
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

function syntaxError(address: string, parts: { local: string; domain: string } | null): string {
  if (address.trim() === '') return 'empty';
  if (parts === null) return 'needs a name, an @ and a domain';
  const { local, domain } = parts;
  if (Buffer.byteLength(local) > MAX_LOCAL_OCTETS) return `more than ${MAX_LOCAL_OCTETS} octets before the @`;
  if (!isLocalPart(local)) return localPartError(local);
  if (domain.includes('(')) return 'a comment in the domain, which no mail server takes';
  if (domain.startsWith('[')) return 'what stands in brackets is no IP address';
  if (/^[\d.]+$/.test(domain)) return 'a number in place of a domain';
  if (!domain.replace(/\.$/, '').includes('.')) return 'the domain has no dot';
  if (/\.\.|^\./.test(domain)) return 'a dot at the start of the domain, or two together';
  if (domain.split('.').some((label) => label.length > 63)) return 'more than 63 characters between two dots of the domain';
  return toAsciiDomain(domain) === null ? 'the domain is no valid host name' : 'longer than an address may be';
}

function localPartError(local: string): string {
  if (local.startsWith('"')) return 'quotes before the @ that are empty, not closed, or hold what they cannot';
  if (local.includes('@')) return 'more than one @';
  if (local.includes('(')) return 'a comment before the @, which no mail server takes';
  if (local.includes(' ')) return 'a space before the @';
  if (/^\.|\.$|\.\./.test(local)) return 'a dot at the start or the end of what is before the @, or two together';
  return visibleText(local) === local
    ? 'characters before the @ that an address cannot have there'
    : 'characters before the @ that nobody sees';
}

const BRACKETED = /<([^<>]*@[^<>]*)>/;

/**
 * The address that was probably meant by an invalid one, or null. It covers everything that a run cleans, and typos that a run never
 * corrects: two @, commas instead of dots, a dot too many, spaces in the domain.
 */
function repaired(address: string): string | null {
  const shown = visibleText(address).replaceAll(/ ?@[ @]*/g, '@');
  const certain = addressIn(address) ?? addressIn(shown);
  if (certain !== null) return certain.key;
  const parts = splitAddress(unwrapped(BRACKETED.exec(shown)?.[1] ?? shown));
  if (parts === null) return null;
  const local = parts.local
    .replaceAll(/\.{2,}/g, '.')
    .replace(/^\./, '')
    .replace(/\.$/, '');
  return addressIn(`${local}@${parts.domain.replaceAll(/ ?[.,;][ .,;]*/g, '.').replace(/^\./, '')}`)?.key ?? null;
}
