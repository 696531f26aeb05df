/** The mail world's DNS, on a UDP port of the loopback interface. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { RCODE, TYPE } from '../../verification/dns/message.ts';
import { readQuestion, writeAnswer, type Question } from './dns-message.ts';
import type { MailWorld } from './world.ts';

const TTL_S = 300;
const LOOPBACK = '127.0.0.1';

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

export async function startDnsServer(world: MailWorld): Promise<DnsServer> {
  const socket = createSocket('udp4');
  socket.on('message', (message, from) => {
    const question = readQuestion(message);
    const answer = question === null ? null : toAnswer(world, question);
    if (answer !== null) socket.send(answer, from.port, from.address);
  });
  socket.on('error', () => undefined);
  socket.bind(0, LOOPBACK);
  await once(socket, 'listening');
  return {
    port: socket.address().port,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** Null: this domain's DNS says nothing. */
function toAnswer(world: MailWorld, question: Question): Buffer | null {
  const { name, type } = question;
  const domain = Object.hasOwn(world.domains, name) ? world.domains[name] : undefined;
  if (domain?.dns === 'silent') return null;
  if (domain?.dns === 'not_auth') return writeAnswer(question, RCODE.notauth, []);
  if (domain?.dns === 'refers') return writeAnswer(question, RCODE.none, [], [{ type: 'ns', ttlS: TTL_S }]);
  if (domain?.dns === 'servfail') return writeAnswer(question, RCODE.servfail, []);
  const isHost = Object.hasOwn(world.hosts, name);
  if (type === TYPE.mx && domain?.nullMx === true) return writeAnswer(question, RCODE.none, [{ type: 'mx', preference: 0, host: '', ttlS: TTL_S }]);
  if (type === TYPE.mx && domain?.mx !== undefined) {
    return writeAnswer(question, RCODE.none, domain.mx.map(([preference, host]) => ({ type: 'mx', preference, host, ttlS: TTL_S })));
  }
  if (type === TYPE.a && isHost) return writeAnswer(question, RCODE.none, [{ type: 'a', address: LOOPBACK, ttlS: TTL_S }]);
  return writeAnswer(question, isHost || domain !== undefined ? RCODE.none : RCODE.nxdomain, []);
}
