/** Metadata addresses, where clouds publish a machine's credentials. They are refused in development as well. */
import { BlockList, isIP, isIPv6 } from 'node:net';

/** IPv4 networks from the documentation of the clouds. Most clouds use a link-local address such as 169.254.169.254. */
const V4 = [
  // AWS, Google, Azure, OpenStack, DigitalOcean, Oracle, Hetzner; ECS 169.254.170.2, Tencent 169.254.0.23, Scaleway 169.254.42.42.
  ['169.254.0.0', 16],
  ['168.63.129.16', 32], // Azure's wire server; the address is in a public range
  ['100.100.100.200', 32], // Alibaba
  ['192.0.0.192', 32], // Oracle, classic
  ['192.80.8.124', 32], // Packet
] as const;
const V6 = [
  ['fd00:ec2::', 32], // AWS: ::254 metadata, ::23 pod identity, ::253 DNS
  ['fd20:ce::254', 128], // Google
  ['fd00:c1::a9fe:a9fe', 128], // Oracle
  ['fd00:42::42', 128], // Scaleway
  ['fd00:a9fe:a9fe::', 48], // Akamai (Linode)
  ['fe80::', 10], // link-local
] as const;
const NAMES = new Set([
  'metadata',
  'instance-data',
  'rancher-metadata',
  'metadata.google.internal',
  'metadata.goog',
  'metadata.azure.internal',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'metadata.oraclecloud.com',
  'instance-data.ec2.internal',
  'api.metadata.cloud.ibm.com',
]);

const METADATA = new BlockList();
for (const [net, bits] of V4) METADATA.addSubnet(net, bits, 'ipv4');
for (const [net, bits] of V6) METADATA.addSubnet(net, bits, 'ipv6');

/** Whether a host is a metadata address of a cloud, in any form that leads to it. @param host a name, or an IP address without brackets */
export function isMetadata(host: string): boolean {
  if (isIP(host) === 0) return NAMES.has(host.toLowerCase());
  if (!isIPv6(host)) return METADATA.check(host, 'ipv4');
  return METADATA.check(host, 'ipv6') || ipv4Within(groupsOf(host)).some((address) => METADATA.check(address, 'ipv4'));
}

/** The IPv4 addresses that an IPv6 address may lead to, by any transition mechanism. */
function ipv4Within(groups: readonly number[]): string[] {
  const at = (first: number): string =>
    [groups[first] ?? 0, groups[first + 1] ?? 0].flatMap((group) => [group >> 8, group & 0xff]).join('.');
  const [first, second] = groups;
  return [
    // IPv4-compatible, mapped, translated and NAT64 (RFC 6052) forms end with the IPv4 address. A global unicast address has none inside.
    ...((first ?? 0) >> 13 === 1 ? [] : [at(6)]),
    // 6to4 (RFC 3056).
    ...(first === 0x2002 ? [at(1)] : []),
    // Teredo (RFC 4380) inverts each bit.
    ...(first === 0x2001 && second === 0
      ? [
          at(6)
            .split('.')
            .map((byte) => 255 - Number(byte))
            .join('.'),
        ]
      : []),
  ];
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The URL parser gives the canonical form, without an embedded dotted IPv4 address.
  const plain = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = plain.split('::');
  const read = (part: string): number[] => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, after] = [read(head), read(tail ?? '')];
  return [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
}
