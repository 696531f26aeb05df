/** Which part of a domain name somebody registered: the public suffix list, from tldts. */
import { getDomain, parse } from 'tldts';

/**
 * The registrable domain of `domain` (ASCII, lower case): `acme.co.uk` of `mail.acme.co.uk`. Suffixes under which private operators let
 * others register count too, so that two customers of one are not taken for each other. A public suffix is its own.
 */
export function registrableDomain(domain: string): string {
  return getDomain(domain, { allowPrivateDomains: true, extractHostname: false, validateHostname: false }) ?? domain;
}

/** The suffix under which `domain` (ASCII, lower case) was registered with a registry, such as `com` or `co.uk`; null when there is no such registry. */
export function suffixOf(domain: string): string | null {
  const { isIcann, publicSuffix } = parse(domain, { extractHostname: false, validateHostname: false });
  return isIcann === true ? publicSuffix : null;
}
