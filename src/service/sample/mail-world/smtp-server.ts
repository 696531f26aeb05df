/** One mail host of the mail world, on a TCP port of the loopback interface. It accepts no mail; it only says whether it would. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TLSSocket, type SecureContext } from 'node:tls';
import type { Postmaster, WorldHost } from './world.ts';

const MAX_LINE = 2_000;
const MAX_CONNECTIONS = 1_000;
const IDLE_MS = 60_000;
/** Limit for `drips` and `endless`, when the other side never closes. */
const MAX_DRIPS = 100_000;
const DRIP_MS = 20;
const CURT_AFTER = 3;

/** Statistics of a host. */
export interface HostCounts {
  connections: number;
  /** The highest number of simultaneous conversations. */
  mostOpen: number;
  /** How often commands arrived, in any number at once. Each is a round trip for a client that waits for the replies. */
  turns: number;
  /** RCPT commands. */
  recipients: number;
  /** Conversations that the host ended with 421. */
  ended: number;
}

export interface SmtpHost {
  readonly port: number;
  readonly counts: HostCounts;
  close(): Promise<void>;
}

export async function startSmtpHost(name: string, host: WorldHost, postmaster: Postmaster, tls: SecureContext | null): Promise<SmtpHost> {
  const counts: HostCounts = { connections: 0, mostOpen: 0, turns: 0, recipients: 0, ended: 0 };
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    counts.connections++;
    open.add(socket);
    counts.mostOpen = Math.max(counts.mostOpen, open.size);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(IDLE_MS, () => socket.destroy());
    socket.setNoDelay(true);
    new Conversation(name, host, postmaster, tls, socket, counts).begin(open.size > (host.mostConversations ?? Infinity));
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  if (host.quirk === 'dead') await close(server);
  return {
    port,
    counts,
    async close() {
      for (const socket of open) socket.destroy();
      if (host.quirk !== 'dead') await close(server);
    },
  };
}

async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => server.close(() => resolve()));
}

class Conversation {
  readonly #name: string;
  readonly #host: WorldHost;
  readonly #postmaster: Postmaster;
  readonly #tls: SecureContext | null;
  readonly #counts: HostCounts;
  #socket: Socket;
  #rest = '';
  #sender: string | null = null;
  #recipients = 0;
  #inTransaction = 0;
  #secure = false;
  #over = false;

  constructor(name: string, host: WorldHost, postmaster: Postmaster, tls: SecureContext | null, socket: Socket, counts: HostCounts) {
    this.#name = name;
    this.#host = host;
    this.#postmaster = postmaster;
    this.#tls = tls;
    this.#socket = socket;
    this.#counts = counts;
  }

  /** @param full whether the host has reached its limit of conversations */
  begin(full: boolean): void {
    this.#listen();
    if (full) {
      this.#say('421 4.7.0 too many connections from you', true);
      return;
    }
    switch (this.#host.quirk) {
      case 'hangs_up':
        this.#socket.end();
        return;
      case 'silent':
        return;
      case 'busy':
        this.#say('421 4.3.2 too busy, come again later', true);
        return;
      case 'refuses':
        this.#say('554 5.7.1 your address is on a blocklist', true);
        return;
      case 'endless':
        this.#flood();
        return;
      case 'binary':
        this.#socket.write(Buffer.from(Array.from({ length: 512 }, (_, n) => (n * 7) % 256)));
        return;
      case 'drips':
        this.#drip();
        return;
      default:
        this.#say(`220 ${this.#name} ESMTP`);
    }
  }

  #listen(): void {
    this.#socket.on('data', (chunk: Buffer) => {
      this.#counts.turns++;
      const lines = `${this.#rest}${chunk.toString('utf8')}`.split('\r\n');
      this.#rest = lines.pop() ?? '';
      if (this.#host.oneByOne === true && lines.length > 1) this.#say('554 5.5.0 one command at a time', true);
      else for (const line of lines) if (!this.#over) this.#obey(line);
      if (this.#rest.length > MAX_LINE) this.#socket.destroy();
    });
  }

  #obey(line: string): void {
    const [verb = ''] = line.split(' ', 1);
    // As Postfix does: replies to the next command.
    if (this.#recipients >= (this.#host.mostRecipients ?? Infinity) && verb.toUpperCase() !== 'QUIT') {
      this.#say('421 4.7.0 too many recipients for one conversation', true);
      return;
    }
    const path = /^(?:MAIL FROM|RCPT TO):<(.*)>/i.exec(line)?.[1] ?? null;
    switch (verb.toUpperCase()) {
      case 'EHLO':
        this.#say(this.#host.quirk === 'old' ? '502 5.5.1 EHLO is not known here' : this.#greeting());
        return;
      case 'HELO':
        this.#say(`250 ${this.#name}`);
        return;
      case 'STARTTLS':
        this.#say('220 2.0.0 go ahead');
        this.#encrypt();
        return;
      case 'MAIL':
        this.#sender = path;
        this.#inTransaction = 0;
        this.#say(this.#toSender());
        if (this.#host.quirk === 'chatty') this.#say('250 2.1.5 fine');
        return;
      case 'RCPT':
        this.#recipient(path);
        return;
      case 'RSET':
        this.#sender = null;
        this.#say('250 2.0.0 fine');
        return;
      case 'QUIT':
        this.#say('221 2.0.0 goodbye', true);
        return;
      default:
        this.#say('502 5.5.2 not known here');
    }
  }

  #greeting(): string {
    const extensions = ['ENHANCEDSTATUSCODES'];
    if (this.#host.oneByOne !== true) extensions.push('PIPELINING');
    if (this.#host.smtputf8 === true) extensions.push('8BITMIME', 'SMTPUTF8');
    if (!this.#secure && ((this.#host.tls === true && this.#tls !== null) || this.#host.quirk === 'bad_tls')) extensions.push('STARTTLS');
    const lines = [this.#name, ...extensions];
    return lines.map((line, n) => `250${n === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n');
  }

  #toSender(): string {
    const { quirk, blocksAfter = Infinity } = this.#host;
    if (this.#counts.recipients >= blocksAfter) return '554 5.7.1 you are blocked';
    return quirk === 'rejects_sender'
      ? '550 5.7.1 sender refused by policy'
      : quirk === 'defers_sender'
        ? '451 4.7.1 come again later'
        : '250 2.1.0 fine';
  }

  #recipient(path: string | null): void {
    this.#recipients++;
    this.#counts.recipients++;
    this.#inTransaction++;
    const { quirk } = this.#host;
    if (
      quirk === 'drops_at_rcpt' ||
      (quirk === 'curt' && this.#recipients > CURT_AFTER) ||
      (quirk === 'shy' && !this.#postmaster.knows(path ?? ''))
    ) {
      this.#over = true;
      this.#inTurn(() => this.#socket.destroySoon());
      return;
    }
    if (this.#sender === null || path === null) this.#say('503 5.5.1 MAIL first');
    else if (quirk === 'closes_at_rcpt') this.#say('421 4.3.2 closing down', true);
    else if (quirk === 'strict' && this.#inTransaction > 1) this.#say('452 4.5.3 one recipient at a time');
    else {
      const reply = this.#postmaster.reply(this.#name, this.#sender, path);
      this.#say(reply, reply.startsWith('421'));
    }
  }

  #encrypt(): void {
    if (this.#host.quirk === 'bad_tls' || this.#tls === null) {
      this.#socket.write('this is no TLS\r\n');
      return;
    }
    this.#socket.removeAllListeners('data');
    this.#socket = new TLSSocket(this.#socket, { isServer: true, secureContext: this.#tls });
    this.#socket.on('error', () => this.#socket.destroy());
    this.#secure = true;
    this.#rest = '';
    this.#listen();
  }

  #say(text: string, goodbye = false): void {
    this.#over ||= goodbye;
    if (text.startsWith('421')) this.#counts.ended++;
    this.#inTurn(() => {
      if (!this.#socket.writable) return;
      if (goodbye) this.#socket.end(`${text}\r\n`);
      else this.#socket.write(`${text}\r\n`);
    });
  }

  /** Sends a reply after the host's latency, and after all earlier replies. */
  #inTurn(act: () => void): void {
    if (this.#host.latencyMs === undefined) act();
    else setTimeout(act, this.#host.latencyMs).unref();
  }

  /** Writes as fast as it is read. */
  #flood(): void {
    let lines = 0;
    const writeMore = (): void => {
      while (!this.#socket.destroyed && lines++ < MAX_DRIPS) if (!this.#socket.write(`220-${'x'.repeat(70)}\r\n`)) return;
    };
    this.#socket.on('drain', writeMore);
    writeMore();
  }

  #drip(): void {
    let drips = 0;
    const timer = setInterval(() => {
      if (this.#socket.destroyed || drips++ > MAX_DRIPS) clearInterval(timer);
      else this.#socket.write(drips === 1 ? '2' : drips <= 3 ? ('20'[drips - 2] as string) : drips === 4 ? '-' : 'x');
    }, DRIP_MS).unref();
  }
}
