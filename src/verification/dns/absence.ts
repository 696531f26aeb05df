/**
 * Whether a name really has no records of a type, or is not there at all. The platform's resolver says the same (ENODATA) of an empty answer, of a server that refers to
 * others, and of most error codes (RFC 1035 4.1.1 and its registry: 6 to 11 and 16 to 23); and where a network lets only some names through, its server denies all others.
 * So the server is asked again, and its answer looked at.
 */
import { createSocket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { registrableDomain, suffixOf } from '../registrable.ts';
import { HEADER_OCTETS, RCODE, readReply, TYPE, writeQuery, type ReplyShape } from './message.ts';

const DNS_PORT = 53;
/** Longer names than DNS has are asked by nobody; this bounds how far up is looked. */
const MAX_PARENTS = 10;
/** A top-level domain that everybody knows who knows any. The root would not do: a filter's wildcard (`*` in a response policy zone) does not cover it. */
const KNOWN_TO_ALL = 'com';

/** `absent`: it is as it was said. `silent`: no server answered in time. Anything else is why the answer is none. */
export type Absence = 'absent' | 'silent' | { readonly why: string };

/**
 * @param said what the platform's resolver made of the first answer
 * @param servers as `getServers` of the platform's resolver has them
 * @param timeoutMs for each question to each server
 */
export async function confirmAbsence(said: 'no_name' | 'no_data', servers: readonly string[], name: string, type: number, timeoutMs: number): Promise<Absence> {
  for (const server of servers) {
    const reply = await ask(server, name, type, timeoutMs);
    if (reply === null) continue;
    const expected = said === 'no_name' ? RCODE.nxdomain : RCODE.none;
    if (reply.rcode !== expected && reply.rcode !== RCODE.none) return { why: `DNS error code ${reply.rcode}` };
    if (reply.rcode !== expected || reply.truncated || reply.answers.includes(type)) return { why: 'the DNS server contradicts itself' };
    if (reply.authority.includes(TYPE.soa)) return 'absent';
    if (said === 'no_data' && reply.authority.includes(TYPE.ns)) return { why: 'the DNS server refers to others' };
    const knows = said === 'no_name' ? await knowsAbove(server, name, timeoutMs) : await knowsZone(server, name, timeoutMs);
    if (knows === 'silent') continue;
    if (knows === 'yes') return 'absent';
    return { why: said === 'no_name' ? 'the DNS server denies the name, and knows no zone above it' : 'an empty answer from a DNS server that does not know the zone' };
  }
  return 'silent';
}

/** Whether a server can tell the SOA record of a zone. `silent`: it did not answer in time, so that nobody knows. */
type Knows = 'yes' | 'no' | 'silent';

/** RFC 2308 2.2 wants a SOA record in an empty answer, and local resolvers leave it out: then one that knows the zone can tell it when it is asked. */
async function knowsZone(server: string, name: string, timeoutMs: number): Promise<Knows> {
  const top = registrableDomain(name);
  let zone = name;
  for (let n = 0; n < MAX_PARENTS; n++) {
    const reply = await ask(server, zone, TYPE.soa, timeoutMs);
    if (reply === null) return 'silent';
    if (reply.rcode !== RCODE.none) return 'no';
    if (tellsZone(reply)) return 'yes';
    if (zone.length <= top.length || !zone.includes('.')) return 'no';
    zone = zone.slice(zone.indexOf('.') + 1);
  }
  return 'no';
}

/** Whoever may deny a name knows the zone that it would be in; a filter does not even know `com`. */
async function knowsAbove(server: string, name: string, timeoutMs: number): Promise<Knows> {
  for (const zone of zonesAbove(name)) {
    const reply = await ask(server, zone, TYPE.soa, timeoutMs);
    if (reply === null) return 'silent';
    if (reply.rcode !== RCODE.none && reply.rcode !== RCODE.nxdomain) return 'no';
    if (tellsZone(reply)) return 'yes';
  }
  return 'no';
}

/** The nearest first. A mistyped top-level domain has no zone above it but the root's: there, whoever knows another one is believed. Who denies one that there is, is a filter. */
function zonesAbove(name: string): readonly string[] {
  const labels = name.split('.');
  const zones = labels.map((_, n) => labels.slice(n).join('.')).slice(1);
  return [...zones.slice(-MAX_PARENTS), ...(suffixOf(name) === null ? [KNOWN_TO_ALL] : [])];
}

function tellsZone({ answers, authority }: ReplyShape): boolean {
  return answers.includes(TYPE.soa) || authority.includes(TYPE.soa);
}

/** One question to one server, by UDP: what says that there is nothing is small. Null: no answer in time. */
async function ask(server: string, name: string, type: number, timeoutMs: number): Promise<ReplyShape | null> {
  const { address, port } = placeOf(server);
  const query = writeQuery(randomInt(65_536), name, type);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  const { promise, resolve } = Promise.withResolvers<ReplyShape | null>();
  const timer = setTimeout(() => resolve(null), timeoutMs);
  socket.on('error', () => resolve(null));
  socket.on('message', (message) => {
    const reply = readReply(message);
    // Names come back in any case; whatever answers another question is not for us.
    if (reply !== null && reply.id === query.readUInt16BE(0) && sameText(reply.question, query.subarray(HEADER_OCTETS))) resolve(reply);
  });
  // Connected, it hears this server alone.
  socket.connect(port, address, () => socket.send(query));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    socket.close();
  }
}

function sameText(one: Buffer, other: Buffer): boolean {
  return one.toString('latin1').toLowerCase() === other.toString('latin1').toLowerCase();
}

/** `1.2.3.4`, `1.2.3.4:53`, `2001:db8::1` or `[2001:db8::1]:53`. */
function placeOf(server: string): { address: string; port: number } {
  const [, bracketed, withPort, port] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(server) ?? [];
  const address = bracketed ?? withPort;
  return address === undefined ? { address: server, port: DNS_PORT } : { address, port: Number(port) };
}
