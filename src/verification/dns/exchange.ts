/** Sends one question to one DNS server: over UDP, and over TCP when the UDP answer is truncated (RFC 1035 4.2, RFC 7766). */
import { decode, encode, RECURSION_DESIRED, streamEncode, type DecodedPacket, type RecordType } from 'dns-packet';
import { createSocket } from 'node:dgram';
import { randomInt } from 'node:crypto';
import { connect, isIPv6 } from 'node:net';

export interface Question {
  /** ASCII, lower case, without the root's dot. */
  readonly name: string;
  readonly type: RecordType;
}

/** Why there is no answer: `ETIMEOUT`, or the code of a socket's error such as `ECONNREFUSED`. */
export interface NoAnswer {
  readonly failure: string;
}

const DNS_PORT = 53;
/** RFC 1035 4.2.2: a length of two octets stands before each message. */
const LENGTH_OCTETS = 2;

/**
 * Asks one server. Never rejects.
 * @param server `1.2.3.4`, `1.2.3.4:53`, `2001:db8::1` or `[2001:db8::1]:53`
 * @param timeoutMs for each of the two transports
 */
export async function exchange(server: string, question: Question, timeoutMs: number): Promise<DecodedPacket | NoAnswer> {
  const answer = await overUdp(server, question, timeoutMs);
  return 'failure' in answer || !answer.flag_tc ? answer : overTcp(server, question, timeoutMs);
}

function overUdp(server: string, question: Question, timeoutMs: number): Promise<DecodedPacket | NoAnswer> {
  const { address, port } = addressOf(server);
  const query = queryOf(question);
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
  return within(
    timeoutMs,
    () => socket.close(),
    (settle) => {
      socket.on('error', (error: NodeJS.ErrnoException) => settle({ failure: error.code ?? 'EUNKNOWN' }));
      socket.on('message', (message) => {
        const answer = read(message, query);
        if (answer !== null) settle(answer);
      });
      // A connected socket receives packets of this server only.
      socket.connect(port, address, () => socket.send(encode(query)));
    },
  );
}

function overTcp(server: string, question: Question, timeoutMs: number): Promise<DecodedPacket | NoAnswer> {
  const { address, port } = addressOf(server);
  const query = queryOf(question);
  const socket = connect({ host: address, port });
  return within(
    timeoutMs,
    () => socket.destroy(),
    (settle) => {
      // At most 65,537 octets are kept, because a length of two octets cannot say more.
      let received = Buffer.alloc(0);
      socket.on('error', (error: NodeJS.ErrnoException) => settle({ failure: error.code ?? 'EUNKNOWN' }));
      socket.on('end', () => settle({ failure: 'ECONNRESET' }));
      socket.on('data', (chunk) => {
        received = Buffer.concat([received, chunk]);
        if (received.length < LENGTH_OCTETS || received.length < LENGTH_OCTETS + received.readUInt16BE(0)) return;
        settle(read(received.subarray(LENGTH_OCTETS, LENGTH_OCTETS + received.readUInt16BE(0)), query) ?? { failure: 'EBADRESP' });
      });
      socket.write(streamEncode(query));
    },
  );
}

/** Settles as `begin` does, or with a timeout; then calls `end` once. */
async function within<T>(
  timeoutMs: number,
  end: () => void,
  begin: (settle: (value: T | NoAnswer) => void) => void,
): Promise<T | NoAnswer> {
  const { promise, resolve } = Promise.withResolvers<T | NoAnswer>();
  const timer = setTimeout(() => resolve({ failure: 'ETIMEOUT' }), timeoutMs);
  begin(resolve);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    end();
  }
}

type Query = ReturnType<typeof queryOf>;

function queryOf({ name, type }: Question) {
  return { type: 'query' as const, id: randomInt(65_536), flags: RECURSION_DESIRED, questions: [{ type, name, class: 'IN' as const }] };
}

/** null for a message that is invalid or answers another question. Names come back in any case. */
function read(message: Buffer, query: Query): DecodedPacket | null {
  try {
    const answer = decode(message);
    const [asked] = query.questions;
    const [echoed] = answer.questions ?? [];
    const isOurs =
      answer.flag_qr &&
      answer.id === query.id &&
      echoed?.type === asked?.type &&
      plainName(echoed?.name ?? '') === plainName(asked?.name ?? '');
    return isOurs ? answer : null;
  } catch {
    return null;
  }
}

/** Lower case, without the root's dot. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}

function addressOf(server: string): { address: string; port: number } {
  const [, bracketed, withPort, port] = /^(?:\[(.+)\]|([^:]+)):(\d+)$/.exec(server) ?? [];
  const address = bracketed ?? withPort;
  return address === undefined ? { address: server, port: DNS_PORT } : { address, port: Number(port) };
}
