/** How the verifier behaves towards mail servers. */
import { randomBytes, randomInt } from 'node:crypto';
import { connect as connectTcp, type Socket } from 'node:net';
import { SmtpFailure } from './connection.ts';
import type { SmtpTarget } from './session.ts';

export interface SmtpSettings {
  /** Opens a connection. @throws SmtpFailure */
  readonly connect: (target: SmtpTarget, timeoutMs: number, signal: AbortSignal) => Promise<Socket>;
  /** The name said in EHLO: it should resolve to the address that we come from. Null: for want of one, that address itself. */
  readonly ehloName: string | null;
  /** The sender of MAIL: empty (the null sender), or one fixed real address. */
  readonly sender: string;
  readonly connectMs: number;
  /** How long each reply may take. */
  readonly commandMs: number;
  /** Conversations at once, in all and with one provider. */
  readonly conversations: number;
  readonly conversationsPerProvider: number;
  /** Conversations begun with one provider in a second. */
  readonly perProviderPerSecond: number;
  /** Local parts that nobody has, for the accept-all probe: two unlike each other. */
  readonly strangers: () => readonly [string, string];
}

const CONNECT_MS = 10_000;
const COMMAND_MS = 15_000;
const CONVERSATIONS = 100;
const PER_PROVIDER = 8;
const PER_PROVIDER_PER_SECOND = 25;
/** Of `/etc/services`. */
export const SMTP_PORT = 25;

/** Settings for real mail servers; what is given replaces the default. */
export function smtpSettings(given: Partial<SmtpSettings> & Pick<SmtpSettings, 'ehloName'>): SmtpSettings {
  return {
    connect: connectTo(SMTP_PORT),
    sender: '',
    connectMs: CONNECT_MS,
    commandMs: COMMAND_MS,
    conversations: CONVERSATIONS,
    conversationsPerProvider: PER_PROVIDER,
    perProviderPerSecond: PER_PROVIDER_PER_SECOND,
    strangers: randomStrangers,
    ...given,
  };
}

/** Connects by TCP, to the same port everywhere, or to what `place` says for a host. */
export function connectTo(port: number, place: (target: SmtpTarget) => { address: string; port: number } = ({ address }) => ({ address, port })): SmtpSettings['connect'] {
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

/** How a machine without a name introduces itself (RFC 5321 4.1.3): by the address that it comes from. @param address an IP address. */
export function addressLiteral(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  return plain.includes(':') ? `[IPv6:${plain}]` : `[${plain}]`;
}

/** One that looks like a person's and one that looks like nothing: a rule that lets one of them pass rarely lets both. */
function randomStrangers(): readonly [string, string] {
  const letters = (count: number): string => Array.from({ length: count }, () => 'abcdefghijklmnopqrstuvwxyz'[randomInt(26)]).join('');
  return [`${letters(7)}.${letters(9)}`, randomBytes(9).toString('hex')];
}
