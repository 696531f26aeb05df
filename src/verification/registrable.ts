/** The registrable part of a domain name: the public suffix list, from tldts. */
import { getDomain, parse } from 'tldts';

/**
 * The registrable domain of `domain` (ASCII, lower case): `acme.co.uk` for `mail.acme.co.uk`, and a public suffix for itself. Private
 * suffixes such as `github.io` count, so that two customers of one operator have different domains.
 */
export function registrableDomain(domain: string): string {
  return getDomain(domain, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? domain;
}

/**
 * The suffix under which `domain` (ASCII, lower case) was registered with a registry, such as `com` or `co.uk`; null when there is no such
 * registry.
 */
export function suffixOf(domain: string): string | null {
  const { isIcann, publicSuffix } = parse(domain, { extractHostname: false, validateHostname: false });
  return isIcann === true ? publicSuffix : null;
}
