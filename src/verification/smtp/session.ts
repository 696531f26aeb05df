/** A conversation with one mail host, from the greeting to QUIT, in which any number of domains can be asked about. */
import type { Reply } from './reply.ts';
import { SmtpConnection, SmtpFailure } from './connection.ts';
import type { SmtpSettings } from './settings.ts';

export type SmtpStage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'mail' | 'rcpt';

/** Where the conversation broke off, and why. */
export class SessionFailure extends Error {
  override readonly name = 'SessionFailure';
  readonly stage: SmtpStage;
  readonly failure: SmtpFailure;

  constructor(stage: SmtpStage, failure: SmtpFailure) {
    super(failure.message, { cause: failure });
    this.stage = stage;
    this.failure = failure;
  }
}

/** Where to connect; the name is for TLS and for those who map hosts to places of their own. */
export interface SmtpTarget {
  readonly host: string;
  readonly address: string;
}

/** Recipients after which a transaction begins anew: RFC 5321 4.5.3.1.8 makes servers take 100; many take less. */
const MAX_TRANSACTION = 50;

export class SmtpSession {
  readonly #connection: SmtpConnection;
  readonly #settings: SmtpSettings;
  readonly smtputf8: boolean;
  #open: 'none' | 'ascii' | 'utf8' = 'none';
  #inTransaction = 0;
  /** RCPT commands so far. */
  asked = 0;

  private constructor(connection: SmtpConnection, settings: SmtpSettings, extensions: readonly string[]) {
    this.#connection = connection;
    this.#settings = settings;
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
    const connection = new SmtpConnection(socket, settings.commandMs, signal);
    try {
      await inStage('greeting', async () => needs(await connection.command(null), 220));
      let extensions = await inStage('ehlo', () => hello(connection, settings.ehloName));
      if (tls && extensions.includes('STARTTLS')) {
        await inStage('starttls', async () => {
          // A server that offers it and then has no mind to is taken as it is.
          if ((await connection.command('STARTTLS')).code === 220) await connection.startTls(target.host);
        });
        if (connection.secure) extensions = await inStage('ehlo', () => hello(connection, settings.ehloName));
      }
      return new SmtpSession(connection, settings, extensions);
    } catch (error) {
      connection.quit();
      throw error;
    }
  }

  /** Asks whether mail for `recipient` would be taken. @throws SessionFailure when the conversation ends over it. */
  async ask(recipient: string, utf8: boolean): Promise<Reply> {
    const kind = utf8 ? 'utf8' : 'ascii';
    if (this.#open !== 'none' && (this.#open !== kind || this.#inTransaction >= MAX_TRANSACTION)) await this.reset();
    if (this.#open === 'none') {
      const from = `MAIL FROM:<${this.#settings.sender}>${utf8 ? ' SMTPUTF8' : ''}`;
      await inStage('mail', async () => needs(await this.#connection.command(from), 250));
      this.#open = kind;
    }
    this.#inTransaction++;
    this.asked++;
    const reply = await inStage('rcpt', () => this.#connection.command(`RCPT TO:<${recipient}>`));
    // RFC 5321 3.8: the server is closing, whatever was asked.
    if (reply.code === 421) throw new SessionFailure('rcpt', new SmtpFailure('dropped', reply.text, reply));
    // RFC 5321 4.5.3.1.10: enough recipients for one message. The next one is for another.
    if (reply.code !== 452 || reply.enhanced !== '4.5.3' || this.#inTransaction === 1) return reply;
    await this.reset();
    return this.ask(recipient, utf8);
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

async function inStage<T>(stage: SmtpStage, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SmtpFailure) throw new SessionFailure(stage, error);
    throw error;
  }
}
