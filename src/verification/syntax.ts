/** The waterfall's first stage: is this an address at all, and if not, why. Pure, linear in the length of the input. */
import { isLocalPart, MAX_LOCAL_OCTETS, normaliseEmail, splitAddress } from './address.ts';
import { isAscii, toAsciiDomain } from './domain.ts';

/** `literal`: a mailbox at an address literal (RFC 5321 4.1.3), which is valid and which no list or store knows. */
export type SyntaxFinding =
  | { readonly kind: 'valid'; readonly normalised: string; readonly local: string; readonly domain: string; readonly smtputf8: boolean }
  | { readonly kind: 'literal' }
  | { readonly kind: 'invalid'; readonly detail: string };

const LITERAL = /^\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[0-9a-f:.]{2,45})\]$/i;

/** Parses one address as it was sent. Never throws, whatever the input. */
export function checkSyntax(address: string): SyntaxFinding {
  const normalised = normaliseEmail(address);
  if (normalised !== null) {
    const at = normalised.lastIndexOf('@');
    const local = normalised.slice(0, at);
    return { kind: 'valid', normalised, local, domain: normalised.slice(at + 1), smtputf8: !isAscii(local) };
  }
  const trimmed = address.length > 1024 ? '' : address.trim();
  const parts = splitAddress(trimmed);
  if (parts !== null && LITERAL.test(parts.domain) && isLocalPart(parts.local)) return { kind: 'literal' };
  return { kind: 'invalid', detail: whatIsWrong(address, parts) };
}

function whatIsWrong(address: string, parts: { local: string; domain: string } | null): string {
  if (address.length > 1024) return 'far longer than an address may be';
  if (address.trim() === '') return 'empty';
  if (parts === null) return 'needs a name, an @ and a domain';
  if (Buffer.byteLength(parts.local) > MAX_LOCAL_OCTETS) return `more than ${MAX_LOCAL_OCTETS} octets before the @`;
  if (!isLocalPart(parts.local)) return 'characters before the @ that an address cannot have there';
  if (!parts.domain.includes('.')) return 'the domain has no dot';
  return toAsciiDomain(parts.domain) === null ? 'the domain is no valid host name' : 'longer than an address may be';
}
