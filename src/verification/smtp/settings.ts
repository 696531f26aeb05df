/** The settings of the SMTP client, and their defaults for real mail servers. */
import { randomBytes, randomInt } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { SmtpFailure } from './connection.ts';

/** Where to connect. The name is for TLS, and for test beds that map hosts to their own addresses. */
export interface SmtpTarget {
  readonly host: string;
  readonly address: string;
}

export interface SmtpSettings {
  /** Opens a connection. @throws SmtpFailure */
  readonly connect: (target: SmtpTarget, timeoutMs: number, signal: AbortSignal) => Promise<Socket>;
  /** The name in EHLO, which should resolve to this machine's public address. Null: the local address as a literal. */
  readonly ehloName: string | null;
  /** The sender in MAIL FROM: empty (the null sender), or one fixed real address. */
  readonly sender: string;
  readonly connectMs: number;
  /** How long each reply may take. */
  readonly commandMs: number;
  /** The limits of concurrent conversations: in total, and with one provider. */
  readonly conversations: number;
  readonly conversationsPerProvider: number;
  /** Conversations started with one provider in a second. */
  readonly perProviderPerSecond: number;
  /** Two different random local parts for the accept-all probe. */
  readonly probeLocalParts: () => readonly [string, string];
}

const CONNECT_MS = 10_000;
const COMMAND_MS = 15_000;
const CONVERSATIONS = 100;
const PER_PROVIDER = 8;
const PER_PROVIDER_PER_SECOND = 25;
/** From `/etc/services`. */
export const SMTP_PORT = 25;

/** The settings for real mail servers. Given values replace the defaults. */
export function smtpSettings(given: Partial<SmtpSettings> & Pick<SmtpSettings, 'ehloName'>): SmtpSettings {
  return {
    connect: connectTo(SMTP_PORT),
    sender: '',
    connectMs: CONNECT_MS,
    commandMs: COMMAND_MS,
    conversations: CONVERSATIONS,
    conversationsPerProvider: PER_PROVIDER,
    perProviderPerSecond: PER_PROVIDER_PER_SECOND,
    probeLocalParts: randomLocalParts,
    ...given,
  };
}

/** Connects by TCP to `port` on every host, or to the address and port that `place` returns. */
export function connectTo(
  port: number,
  place: (target: SmtpTarget) => { address: string; port: number } = ({ address }) => ({ address, port }),
): SmtpSettings['connect'] {
  return async (target, timeoutMs, signal) => {
    const { address, port: at } = place(target);
    return new Promise<Socket>((resolve, reject) => {
      const socket = connectTcp({ host: address, port: at });
      const fail = (failure: SmtpFailure): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        socket.destroy();
        reject(failure);
      };
      const stop = (): void => fail(new SmtpFailure('stopped', 'stopped before the server answered'));
      const timer = setTimeout(() => fail(new SmtpFailure('timeout', `no connection within ${timeoutMs} ms`)), timeoutMs);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      socket.on('error', (error) => fail(new SmtpFailure('unreachable', (error as NodeJS.ErrnoException).code ?? error.message)));
      socket.once('connect', () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        socket.removeAllListeners('error');
        resolve(socket);
      });
    });
  };
}

/** The address literal of a machine without a name (RFC 5321 4.1.3). @param address an IP address */
export function addressLiteral(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return plain.includes(':') ? `[IPv6:${plain}]` : `[${plain}]`;
}

/** A local part like a name and a hexadecimal one: a rule that accepts one of them rarely accepts both. */
function randomLocalParts(): readonly [string, string] {
  const letters = (count: number): string => Array.from({ length: count }, () => 'abcdefghijklmnopqrstuvwxyz'[randomInt(26)]).join('');
  return [`${letters(7)}.${letters(9)}`, randomBytes(9).toString('hex')];
}
