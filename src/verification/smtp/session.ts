/** A conversation with one mail host, from the greeting to QUIT. It can ask about any number of domains. */
import type { Reply } from './reply.ts';
import { isTooMany } from './classify.ts';
import { SmtpConnection, SmtpFailure } from './connection.ts';
import { addressLiteral, type SmtpSettings, type SmtpTarget } from './settings.ts';

export type SmtpStage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'mail' | 'rcpt';

/** Where the conversation broke off, and why. */
export class SessionFailure extends Error {
  override readonly name = 'SessionFailure';
  readonly stage: SmtpStage;
  readonly failure: SmtpFailure;
  /** The recipient of the pending question; null without one. */
  readonly over: string | null;

  constructor(stage: SmtpStage, failure: SmtpFailure, over: string | null = null) {
    super(failure.message, { cause: failure });
    this.stage = stage;
    this.failure = failure;
    this.over = over;
  }
}

/** Recipients in one transaction. RFC 5321 4.5.3.1.8 requires servers to take 100, but many take fewer. */
const MAX_TRANSACTION = 50;
/** RCPT commands sent in one group, which bounds the size of the replies. */
const MAX_GROUP = 25;
/** The address of a closed socket, which is never used. */
const LOOPBACK = '127.0.0.1';

export class SmtpSession {
  readonly #connection: SmtpConnection;
  readonly #settings: SmtpSettings;
  readonly #pipelining: boolean;
  readonly smtputf8: boolean;
  #open: 'none' | 'ascii' | 'utf8' = 'none';
  #inTransaction = 0;
  #mostInTransaction = MAX_TRANSACTION;
  /** The RCPT commands sent so far, and those answered. */
  asked = 0;
  answered = 0;

  private constructor(connection: SmtpConnection, settings: SmtpSettings, extensions: readonly string[]) {
    this.#connection = connection;
    this.#settings = settings;
    this.#pipelining = extensions.includes('PIPELINING');
    this.smtputf8 = extensions.includes('SMTPUTF8');
  }

  get tls(): boolean {
    return this.#connection.secure;
  }

  /** False once the connection has failed or ended. */
  get usable(): boolean {
    return this.#connection.usable;
  }

  /** Connects, sends EHLO, and uses TLS where it is offered. When TLS fails, it reconnects without. @throws SessionFailure */
  static async open(target: SmtpTarget, settings: SmtpSettings, signal: AbortSignal): Promise<SmtpSession> {
    try {
      return await SmtpSession.#greet(target, settings, signal, true);
    } catch (error) {
      if (!(error instanceof SessionFailure) || error.stage !== 'starttls' || signal.aborted) throw error;
      return SmtpSession.#greet(target, settings, signal, false);
    }
  }

  static async #greet(target: SmtpTarget, settings: SmtpSettings, signal: AbortSignal, tls: boolean): Promise<SmtpSession> {
    const socket = await inStage('connect', () => settings.connect(target, settings.connectMs, signal));
    const name = settings.ehloName ?? addressLiteral(socket.localAddress ?? LOOPBACK);
    const connection = new SmtpConnection(socket, settings.commandMs, signal);
    try {
      await inStage('greeting', async () => needs(await connection.reply(), 220));
      let extensions = await inStage('ehlo', () => hello(connection, name));
      if (tls && extensions.includes('STARTTLS')) {
        await inStage('starttls', async () => {
          // When the server offers STARTTLS but refuses it, the session stays unencrypted.
          if ((await connection.command('STARTTLS')).code === 220) await connection.startTls(target.host);
        });
        if (connection.secure) extensions = await inStage('ehlo', () => hello(connection, name));
      }
      return new SmtpSession(connection, settings, extensions);
    } catch (error) {
      connection.quit();
      throw error;
    }
  }

  /**
   * Sends RCPT for each recipient, in groups where the server supports pipelining, and passes each reply to `take`.
   * @throws SessionFailure when the conversation ends; recipients that `take` has not received have no answer
   */
  async ask(recipients: readonly string[], utf8: boolean, take: (recipient: string, reply: Reply) => void): Promise<void> {
    let left = recipients;
    while (left.length > 0) {
      await this.#begin(utf8);
      const group = left.slice(0, this.#groupSize());
      const putOff = await this.#askGroup(group, take);
      left = [...putOff, ...left.slice(group.length)];
    }
  }

  async #begin(utf8: boolean): Promise<void> {
    const kind = utf8 ? 'utf8' : 'ascii';
    if (this.#open !== 'none' && (this.#open !== kind || this.#inTransaction >= this.#mostInTransaction)) await this.reset();
    if (this.#open !== 'none') return;
    const from = `MAIL FROM:<${this.#settings.sender}>${utf8 ? ' SMTPUTF8' : ''}`;
    await inStage('mail', async () => needs(await this.#connection.command(from), 250));
    this.#open = kind;
  }

  /** The first group is one recipient, which detects a server that replies twice before its replies could be mixed up. */
  #groupSize(): number {
    return this.#pipelining && this.answered > 0 ? Math.min(MAX_GROUP, this.#mostInTransaction - this.#inTransaction) : 1;
  }

  /** Returns the recipients that the server postponed to another transaction. */
  async #askGroup(group: readonly string[], take: (recipient: string, reply: Reply) => void): Promise<string[]> {
    const putOff: string[] = [];
    await inStage('rcpt', async () => this.#connection.send(group.map((recipient) => `RCPT TO:<${recipient}>`)));
    this.asked += group.length;
    let taken = this.#inTransaction;
    for (const recipient of group) {
      const reply = await inStage('rcpt', () => this.#connection.reply(), recipient);
      // RFC 5321 3.8: the server is closing, whatever was asked.
      if (reply.code === 421) throw new SessionFailure('rcpt', new SmtpFailure('dropped', reply.text, reply), recipient);
      this.answered++;
      // These recipients go into the next transaction.
      if (taken > 0 && isTooMany(reply)) {
        putOff.push(recipient);
        continue;
      }
      taken++;
      take(recipient, reply);
    }
    if (putOff.length > 0) this.#mostInTransaction = taken;
    this.#inTransaction = taken;
    return putOff;
  }

  /** Ends the transaction (RSET), for instance before another domain. @throws SessionFailure */
  async reset(): Promise<void> {
    if (this.#open === 'none') return;
    await inStage('mail', async () => needs(await this.#connection.command('RSET'), 250));
    this.#open = 'none';
    this.#inTransaction = 0;
  }

  /** Hands the session to another caller with its `signal`. */
  follow(signal: AbortSignal): void {
    this.#connection.follow(signal);
  }

  quit(): void {
    this.#connection.quit();
  }
}

async function hello(connection: SmtpConnection, name: string): Promise<string[]> {
  const reply = await connection.command(`EHLO ${name}`);
  if (reply.code === 250) return reply.lines.slice(1).map((line) => line.trim().split(/\s/, 1)[0]?.toUpperCase() ?? '');
  // RFC 5321 4.1.4: a server without EHLO replies 500 or 502, and the client uses HELO.
  if (reply.code < 500 || reply.code > 504) throw new SmtpFailure('refused', reply.text, reply);
  needs(await connection.command(`HELO ${name}`), 250);
  return [];
}

function needs(reply: Reply, code: number): void {
  if (reply.code !== code) throw new SmtpFailure('refused', reply.text, reply);
}

async function inStage<T>(stage: SmtpStage, work: () => Promise<T>, over: string | null = null): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SmtpFailure) throw new SessionFailure(stage, error, over);
    throw error;
  }
}
