/** A conversation with one mail host, from the greeting to QUIT, in which any number of domains can be asked about. */
import type { Reply } from './reply.ts';
import { isTooMany } from './classify.ts';
import { SmtpConnection, SmtpFailure } from './connection.ts';
import { addressLiteral, type SmtpSettings } from './settings.ts';

export type SmtpStage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'mail' | 'rcpt';

/** Where the conversation broke off, and why. */
export class SessionFailure extends Error {
  override readonly name = 'SessionFailure';
  readonly stage: SmtpStage;
  readonly failure: SmtpFailure;
  /** The recipient that was being asked about; null: none. */
  readonly over: string | null;

  constructor(stage: SmtpStage, failure: SmtpFailure, over: string | null = null) {
    super(failure.message, { cause: failure });
    this.stage = stage;
    this.failure = failure;
    this.over = over;
  }
}

/** Where to connect; the name is for TLS and for those who map hosts to places of their own. */
export interface SmtpTarget {
  readonly host: string;
  readonly address: string;
}

/** Recipients after which a transaction begins anew: RFC 5321 4.5.3.1.8 makes servers take 100; many take less. */
const MAX_TRANSACTION = 50;
/** RCPT commands sent in one go at most: what a server may have to say to them stays small. */
const MAX_GROUP = 25;
/** Of a socket that is closed already: nobody hears it. */
const LOOPBACK = '127.0.0.1';

export class SmtpSession {
  readonly #connection: SmtpConnection;
  readonly #settings: SmtpSettings;
  readonly #pipelining: boolean;
  readonly smtputf8: boolean;
  #open: 'none' | 'ascii' | 'utf8' = 'none';
  #inTransaction = 0;
  #mostInTransaction = MAX_TRANSACTION;
  /** RCPT commands so far, and those that were answered. */
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

  /** Whether the other side is still there, as far as anybody knows. */
  get usable(): boolean {
    return this.#connection.usable;
  }

  /** Connects, greets and encrypts where that is offered; when TLS fails, once more without. @throws SessionFailure */
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
          // A server that offers it and then has no mind to is taken as it is.
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
   * Asks whether mail for each of `recipients` would be taken, several at once where the server lets that be; `take` is given each reply as it comes.
   * @throws SessionFailure when the conversation ends over it; who was not taken until then was not answered.
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

  /** One at first: a server that answers a question twice is found out before its answers could be taken for each other's. */
  #groupSize(): number {
    return this.#pipelining && this.answered > 0 ? Math.min(MAX_GROUP, this.#mostInTransaction - this.#inTransaction) : 1;
  }

  /** Those whom the server wants to be asked about in another transaction. */
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
      // The next transaction is for those.
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

  /** Begins anew, for another domain. @throws SessionFailure */
  async reset(): Promise<void> {
    if (this.#open === 'none') return;
    await inStage('mail', async () => needs(await this.#connection.command('RSET'), 250));
    this.#open = 'none';
    this.#inTransaction = 0;
  }

  /** Changes hands: `signal` is that of whoever asks next. */
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
  // RFC 5321 4.1.4: a server that knows no EHLO says 500 or 502; then HELO is right.
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
