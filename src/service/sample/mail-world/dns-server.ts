/** The mail world's DNS, on a UDP port of the loopback interface. */
import {
  AUTHORITATIVE_ANSWER,
  decode,
  encode,
  RECURSION_AVAILABLE,
  RECURSION_DESIRED,
  type Answer,
  type DecodedPacket,
  type Question,
} from 'dns-packet';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { MailWorld } from './world.ts';

const TTL_S = 300;
const LOOPBACK = '127.0.0.1';
/** RFC 1035 4.1.1, and NOTAUTH of RFC 2136. */
const CODE = { none: 0, servfail: 2, nxdomain: 3, notauth: 9 } as const;
/** RFC 2308 2: a SOA record shows that the server knows the zone. */
const SOA: Answer = { type: 'SOA', name: 'test', ttl: TTL_S, data: { mname: 'test', rname: 'test', minimum: TTL_S } };
const FLAGS = AUTHORITATIVE_ANSWER | RECURSION_DESIRED | RECURSION_AVAILABLE;

interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

interface Said {
  readonly code: number;
  readonly answers?: readonly Answer[];
  readonly authorities?: readonly Answer[];
}

export async function startDnsServer(world: MailWorld): Promise<DnsServer> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const query = readQuery(message);
    const [question] = query?.questions ?? [];
    if (query === null || question === undefined) return;
    const answer = toAnswer(world, question);
    if (answer === null) return;
    const { code, answers = [], authorities = [] } = answer;
    const reply = encode({
      type: 'response',
      id: query.id ?? 0,
      flags: FLAGS | code,
      questions: [question],
      answers: [...answers],
      authorities: [...authorities],
    });
    socket.send(reply, from.port, from.address);
  });
  socket.on('error', () => undefined);
  socket.bind(0, LOOPBACK);
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Null when the message is not a query. */
function readQuery(message: Buffer): DecodedPacket | null {
  try {
    const query = decode(message);
    return query.flag_qr ? null : query;
  } catch {
    return null;
  }
}

/** Null when this domain's DNS is silent. */
function toAnswer(world: MailWorld, question: Question): Said | null {
  const name = question.name.toLowerCase();
  const { type } = question;
  const domain = Object.hasOwn(world.domains, name) ? world.domains[name] : undefined;
  if (domain?.dns === 'silent') return null;
  if (domain?.dns === 'not_auth') return { code: CODE.notauth };
  if (domain?.dns === 'refers') return { code: CODE.none, authorities: [{ type: 'NS', name, ttl: TTL_S, data: 'elsewhere.test' }] };
  if (domain?.dns === 'nxdomain') return { code: CODE.nxdomain, authorities: [SOA] };
  if (domain?.dns === 'servfail') return { code: CODE.servfail };
  const isHost = Object.hasOwn(world.hosts, name);
  const found = recordsOf(name, type, domain, isHost);
  if (found.length > 0) return { code: CODE.none, answers: found };
  return { code: isHost || domain !== undefined ? CODE.none : CODE.nxdomain, authorities: [SOA] };
}

function recordsOf(
  name: string,
  type: Question['type'],
  domain: MailWorld['domains'][string] | undefined,
  isHost: boolean,
): readonly Answer[] {
  if (type === 'MX' && domain?.nullMx === true) return [{ type, name, ttl: TTL_S, data: { preference: 0, exchange: '.' } }];
  if (type === 'MX')
    return (domain?.mx ?? []).map(([preference, host]) => ({
      type,
      name,
      ttl: TTL_S,
      data: { preference, exchange: host === '' ? '.' : host },
    }));
  return type === 'A' && isHost ? [{ type, name, ttl: TTL_S, data: LOOPBACK }] : [];
}
