/** One connection to a mail server: sends commands and reads a reply for each, in bounded bytes and time. */
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { ReplyError, ReplyReader, type Reply } from './reply.ts';

/** `unreachable`: no connection. `blocked`: port 25 is blocked for all hosts. `timeout`: no reply in time. `refused`: another code. */
export type SmtpTrouble = 'unreachable' | 'blocked' | 'timeout' | 'dropped' | 'protocol' | 'tls' | 'refused' | 'stopped';

/** The connection cannot continue. This says nothing about any mailbox. */
export class SmtpFailure extends Error {
  override readonly name = 'SmtpFailure';
  readonly trouble: SmtpTrouble;
  /** The server's reply, if any. */
  readonly reply: Reply | null;

  constructor(trouble: SmtpTrouble, detail: string, reply: Reply | null = null) {
    super(detail);
    this.trouble = trouble;
    this.reply = reply;
  }
}

/** The total bytes that one server may send. */
const MAX_CONNECTION_OCTETS = 1024 * 1024;
/** Characters that would end a command early. Callers never pass them; this is the last check. */
const UNSAFE = /[\r\n\0]/;

interface Waiter {
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: SmtpFailure) => void;
}

export class SmtpConnection {
  #socket: Socket;
  #reader = new ReplyReader();
  #replies: Reply[] = [];
  #waiter: Waiter | null = null;
  #failure: SmtpFailure | null = null;
  #octets = 0;
  #timer: NodeJS.Timeout | null = null;
  readonly #commandMs: number;
  readonly #onStop: () => void;
  #signal: AbortSignal;
  secure = false;

  /** @param socket connected. @param commandMs how long each reply may take. @param signal ends the conversation at once. */
  constructor(socket: Socket, commandMs: number, signal: AbortSignal) {
    this.#socket = socket;
    this.#commandMs = commandMs;
    this.#signal = signal;
    this.#onStop = () => this.#fail(new SmtpFailure('stopped', 'stopped before the server answered'));
    signal.addEventListener('abort', this.#onStop, { once: true });
    this.#listen(socket);
  }

  /** Replaces the signal that ends the conversation. */
  follow(signal: AbortSignal): void {
    this.#signal.removeEventListener('abort', this.#onStop);
    this.#signal = signal;
    if (this.#failure === null) signal.addEventListener('abort', this.#onStop, { once: true });
  }

  get usable(): boolean {
    return this.#failure === null;
  }

  /** Sends one command and resolves with its reply. @throws SmtpFailure */
  async command(line: string): Promise<Reply> {
    this.send([line]);
    return this.reply();
  }

  /**
   * Sends a group of commands (RFC 2920). The caller reads a reply for each, in order, before it sends more.
   * @throws SmtpFailure
   */
  send(lines: readonly string[]): void {
    if (lines.some((line) => UNSAFE.test(line))) throw new SmtpFailure('protocol', 'a command of several lines');
    if (this.#signal.aborted) this.#onStop();
    if (this.#failure !== null) throw this.#failure;
    // No command is pending, so bytes here are not a reply to one.
    if (this.#replies.length > 0 || !this.#reader.empty) throw this.#fail(new SmtpFailure('protocol', 'a reply that nobody asked for'));
    this.#socket.write(lines.map((line) => `${line}\r\n`).join(''));
  }

  /** The next reply; the first one is the greeting. @throws SmtpFailure */
  async reply(): Promise<Reply> {
    const early = this.#replies.shift();
    if (early !== undefined) return early;
    if (this.#signal.aborted) this.#onStop();
    if (this.#failure !== null) throw this.#failure;
    return new Promise<Reply>((resolve, reject) => {
      this.#waiter = { resolve, reject };
      this.#timer = setTimeout(() => this.#fail(new SmtpFailure('timeout', `no reply within ${this.#commandMs} ms`)), this.#commandMs);
    });
  }

  /**
   * Starts TLS after the reply 220 to STARTTLS. Certificates are not checked: nothing secret is sent, and many servers sign their own.
   * @throws SmtpFailure
   */
  async startTls(host: string): Promise<void> {
    // Plain text behind the reply could be injected into the TLS session (CVE-2011-0411).
    if (this.#replies.length > 0 || !this.#reader.empty) throw this.#fail(new SmtpFailure('protocol', 'plain text after STARTTLS'));
    const plain = this.#socket;
    plain.removeAllListeners('data').removeAllListeners('close').removeAllListeners('error');
    const secure = connectTls({ socket: plain, servername: host, rejectUnauthorized: false });
    plain.on('error', () => secure.destroy());
    this.#socket = secure;
    await new Promise<void>((resolve, reject) => {
      this.#waiter = { resolve: () => undefined, reject };
      this.#timer = setTimeout(() => this.#fail(new SmtpFailure('timeout', `no TLS within ${this.#commandMs} ms`)), this.#commandMs);
      secure.once('secureConnect', () => {
        this.#settle();
        resolve();
      });
      // Several errors may come, and an unhandled one would end the process.
      secure.on('error', (error) => this.#fail(new SmtpFailure('tls', error.message)));
      secure.once('close', () => this.#fail(new SmtpFailure('tls', 'the connection ended during the TLS handshake')));
    });
    secure.removeAllListeners('close').removeAllListeners('error');
    this.#listen(secure);
    this.secure = true;
  }

  /** Says goodbye without waiting for the answer. Safe to call at any time. */
  quit(): void {
    if (this.#failure === null && !this.#socket.destroyed) this.#socket.end('QUIT\r\n');
    this.#fail(new SmtpFailure('stopped', 'the conversation is over'), false);
    // A peer that never closes its side is not waited for.
    const socket = this.#socket;
    const timer = setTimeout(() => socket.destroy(), 1_000);
    timer.unref();
    socket.once('close', () => clearTimeout(timer));
    socket.on('data', () => undefined);
  }

  #listen(socket: Socket): void {
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', (error) => this.#fail(new SmtpFailure('dropped', error.message)));
    socket.on('close', () => this.#fail(new SmtpFailure('dropped', 'the server hung up')));
  }

  #take(chunk: Buffer): void {
    if (this.#failure !== null) return;
    this.#octets += chunk.length;
    try {
      if (this.#octets > MAX_CONNECTION_OCTETS) throw new ReplyError('more than a server has to say');
      this.#replies.push(...this.#reader.push(chunk));
    } catch (error) {
      this.#fail(new SmtpFailure('protocol', `the server sent ${error instanceof Error ? error.message : 'nonsense'}`));
      return;
    }
    const waiter = this.#waiter;
    const reply = waiter === null ? undefined : this.#replies.shift();
    if (waiter === null || reply === undefined) return;
    this.#settle();
    waiter.resolve(reply);
  }

  #settle(): void {
    this.#waiter = null;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #fail(failure: SmtpFailure, destroy = true): SmtpFailure {
    if (this.#failure !== null) return this.#failure;
    this.#failure = failure;
    this.#signal.removeEventListener('abort', this.#onStop);
    const waiter = this.#waiter;
    this.#settle();
    if (destroy) this.#socket.destroy();
    waiter?.reject(failure);
    return failure;
  }
}
