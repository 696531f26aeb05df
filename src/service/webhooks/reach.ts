/** To which addresses a delivery may go. They are looked at after DNS was asked, and the connection goes to just those: a name that leads elsewhere a moment later leads nowhere. */
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { isPublicAddress } from '../../verification/dns/public-address.ts';
import type { Resolver } from '../../verification/dns/resolver.ts';
import { isMetadata } from './metadata.ts';

const GLOBAL_UNICAST = new BlockList();
GLOBAL_UNICAST.addSubnet('2000::', 3, 'ipv6');

/** Whether an IP address is one of the Internet's, plainly written: IPv6 that stands for IPv4 (mapped, NAT64 and the like) is none. */
export function isReachable(address: string): boolean {
  return isPublicAddress(address) && (isIPv4(address) ? !isMetadata(address) : GLOBAL_UNICAST.check(address, 'ipv6'));
}

/** What a name leads to is refused, or nobody knows. `code` as a delivery tells it. */
export class NoWay extends Error {
  override readonly name = 'NoWay';
  readonly code: 'refused_address' | 'no_such_host';

  constructor(code: NoWay['code']) {
    super(code);
    this.code = code;
  }
}

/** Where a host leads: one of its own addresses, or all that DNS knows. @throws NoWay when one of them is refused, or none is known */
export async function addressesOf(host: string, resolver: Pick<Resolver, 'addresses'>): Promise<string[]> {
  const found = isIP(host) === 0 ? await resolver.addresses(host) : null;
  const addresses = found === null ? [host] : found.kind === 'found' ? found.records.map(({ address }) => address) : [];
  if (addresses.length === 0) throw new NoWay('no_such_host');
  if (!addresses.every(isReachable)) throw new NoWay('refused_address');
  return addresses;
}

/** In development: where this machine's own ways lead, but for a cloud's metadata. @throws NoWay, or what the system says of a name that it does not know */
async function developmentAddressesOf(host: string): Promise<string[]> {
  const found = (await lookup(host, { all: true })).map(({ address }) => address);
  if (found.some(isMetadata)) throw new NoWay('refused_address');
  return found;
}

/** For a socket: the addresses of a name that were looked at, and no others. @param resolver null: in development */
export function checkedLookup(resolver: Pick<Resolver, 'addresses'> | null): LookupFunction {
  const find = callbackify((host: string) => (resolver === null ? developmentAddressesOf(host) : addressesOf(host, resolver)));
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
