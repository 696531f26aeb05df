/** Which addresses a stranger's DNS may send the verifier to. */
import { BlockList, isIPv6 } from 'node:net';

const NOT_PUBLIC = new BlockList();
// RFC 6890 and the registries it founded: what is not reachable from everywhere.
for (const [net, bits] of [
  ['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16], ['172.16.0.0', 12], ['192.0.0.0', 24],
  ['192.0.2.0', 24], ['192.88.99.0', 24], ['192.168.0.0', 16], ['198.18.0.0', 15], ['198.51.100.0', 24], ['203.0.113.0', 24], ['224.0.0.0', 3],
] as const) {
  NOT_PUBLIC.addSubnet(net, bits, 'ipv4');
  // The same, as IPv6 writes them: mapped, by NAT64 and by 6to4.
  NOT_PUBLIC.addSubnet(`::ffff:${net}`, 96 + bits, 'ipv6');
  NOT_PUBLIC.addSubnet(`64:ff9b::${net}`, 96 + bits, 'ipv6');
}
for (const [net, bits] of [
  ['::', 127], ['64:ff9b:1::', 48], ['100::', 64], ['2001::', 23], ['2001:db8::', 32], ['2002::', 16], ['3fff::', 20], ['5f00::', 16], ['fc00::', 7], ['fe80::', 9], ['ff00::', 8],
] as const) {
  NOT_PUBLIC.addSubnet(net, bits, 'ipv6');
}

/** Whether `address` (an IP address) may belong to a mail server on the Internet: not this machine, not a private network, no documentation. */
export function isPublicAddress(address: string): boolean {
  return !NOT_PUBLIC.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
