/**
 * SSRF guard: the IP addresses that a delivery may go to. It checks them after DNS resolution, and the connection uses exactly the checked
 * addresses. So a name cannot resolve to another address in between (DNS rebinding).
 */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '../../verification/dns/public-address.ts';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { isMetadata } from './metadata.ts';

const GLOBAL_UNICAST = new BlockList();
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6');

/** Whether an IP address is public. IPv6 forms of IPv4 addresses, such as mapped and NAT64, count as not public. */
export function isPublicTarget(address: string): boolean {
  return isPublicAddress(address) && (isIPv4(address) ? !isMetadata(address) : GLOBAL_UNICAST.check(address, 'ipv6'));
}

/** Error: the host must not be called, or does not resolve. `code` is the error code of a delivery. */
export class UnreachableHost extends Error {
  override readonly name = 'UnreachableHost';
  readonly code: 'refused_address' | 'no_such_host';

  constructor(code: UnreachableHost['code']) {
    super(code);
    this.code = code;
  }
}

/** All addresses of a host by DNS; an IP address is its own. @throws UnreachableHost when any address is refused, or DNS has none */
export async function publicAddressesOf(host: string, resolver: Pick<Resolver, 'addresses'>): Promise<string[]> {
  const found = isIP(host) === 0 ? await resolver.addresses(host) : null;
  const addresses = found === null ? [host] : found.kind === 'found' ? found.records.map(({ address }) => address) : [];
  if (addresses.length === 0) throw new UnreachableHost('no_such_host');
  if (!addresses.every(isPublicTarget)) throw new UnreachableHost('refused_address');
  return addresses;
}

/**
 * The addresses of a host in development, by this machine's resolver.
 * @throws UnreachableHost for a metadata address of a cloud; the system's error for an unknown name
 */
async function developmentAddressesOf(host: string): Promise<string[]> {
  const found = (await lookup(host, { all: true })).map(({ address }) => address);
  if (found.some(isMetadata)) throw new UnreachableHost('refused_address');
  return found;
}

/** A `lookup` for sockets that returns checked addresses only. @param resolver null in development */
export function checkedLookup(resolver: Pick<Resolver, 'addresses'> | null): LookupFunction {
  const find = callbackify((host: string) => (resolver === null ? developmentAddressesOf(host) : publicAddressesOf(host, resolver)));
  return (host, { all }, done) => {
    find(host, (error, found) => {
      const addresses = (found ?? []).map((address) => ({ address, family: isIP(address) }));
      const [first] = addresses;
      if (error !== null || first === undefined) done(error, '');
      else if (all === true) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}
