/**
 * Sends requests over raw sockets, one at a time on each connection, and reports the result: `node bench/support/load.ts PLAN.json`. Node's
 * HTTP clients take as long for a request as the server; this one takes a fraction.
 */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';

/** The requests to send, in a file because it is long. */
export interface LoadPlan {
  readonly port: number;
  readonly path: string;
  /** Used in turn. */
  readonly keys: readonly string[];
  readonly bodies: readonly string[];
  readonly connections: number;
  readonly requests: number;
  /** Requests a second, sent at fixed times whatever happened to earlier ones. Null: each follows the answer before it. */
  readonly rate: number | null;
  /** A prefix of the Idempotency-Keys, one for each request. Default: requests have none. */
  readonly idempotencyKeys?: string;
}

/** Latencies in milliseconds, from the time at which a request was due to the last byte of its answer. */
export interface LoadResult {
  readonly perSecond: number;
  readonly seconds: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly longest: number;
  readonly statuses: Readonly<Record<string, number>>;
}

type Answered = (connection: Connection, status: string, dueMs: number) => void;

/** An idle connection takes the next request. */
class Connection {
  readonly #socket: Socket;
  readonly #answered: Answered;
  #dueMs = 0;
  #left = -1;
  #status = '';
  #head: Buffer | null = null;

  constructor(port: number, ready: (connection: Connection) => void, answered: Answered) {
    this.#answered = answered;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => ready(this));
    this.#socket.on('data', (chunk) => this.#read(chunk));
    this.#socket.on('error', (error) => fail(error.message));
    this.#socket.on('close', () => fail('the server has closed a connection'));
  }

  send(request: string, dueMs: number): void {
    this.#dueMs = dueMs;
    this.#socket.write(request, 'latin1');
  }

  end(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#left > 0) {
      this.#left -= chunk.length;
    } else {
      const bytes = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1) {
        this.#head = bytes;
        return;
      }
      this.#head = null;
      const head = bytes.toString('latin1', 0, end + 2);
      const [, length] = /\r\ncontent-length: (\d+)\r/i.exec(head) ?? fail(`an answer without a length: ${head}`);
      this.#status = head.slice(9, 12);
      this.#left = Number(length) - (bytes.length - end - 4);
    }
    if (this.#left > 0) return;
    this.#left = -1;
    this.#answered(this, this.#status, this.#dueMs);
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

function run(plan: LoadPlan): Promise<LoadResult> {
  const requests = requestsOf(plan);
  const times = new Float64Array(plan.requests);
  const statuses: Record<string, number> = {};
  const idle: Connection[] = [];
  let [sent, answered, startedMs] = [0, 0, 0];
  const named = (request: string, index: number): string =>
    plan.idempotencyKeys === undefined ? request : request.replace('\r\n', `\r\nIdempotency-Key: ${plan.idempotencyKeys}-${index}\r\n`);
  const dueMs = (index: number): number => (plan.rate === null ? performance.now() : startedMs + (index * 1_000) / plan.rate);
  const sendDue = (): void => {
    while (sent < plan.requests && idle.length > 0) {
      const due = dueMs(sent);
      if (due > performance.now()) return;
      idle.pop()?.send(named(requests[sent % requests.length] as string, sent), due);
      sent++;
    }
  };
  return new Promise((resolve) => {
    const all: Connection[] = [];
    // A loop of ticks is more precise than a timer and occupies the processor, which is the generator's own.
    const tick = (): void => {
      sendDue();
      if (sent < plan.requests) setImmediate(tick);
    };
    const ready = (connection: Connection): void => {
      idle.push(connection);
      if (idle.length < plan.connections) return;
      startedMs = performance.now();
      if (plan.rate === null) sendDue();
      else tick();
    };
    const done = (connection: Connection, status: string, due: number): void => {
      times[answered++] = performance.now() - due;
      statuses[status] = (statuses[status] ?? 0) + 1;
      idle.push(connection);
      if (answered < plan.requests) {
        sendDue();
        return;
      }
      const seconds = (performance.now() - startedMs) / 1_000;
      for (const one of all) one.end();
      times.sort();
      const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
      resolve({ perSecond: plan.requests / seconds, seconds, p50: at(0.5), p95: at(0.95), p99: at(0.99), longest: at(1), statuses });
    };
    for (let i = 0; i < plan.connections; i++) all.push(new Connection(plan.port, ready, done));
  });
}

function requestsOf({ path, keys, bodies }: LoadPlan): string[] {
  return bodies.map((body, index) => {
    const head =
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ` +
      `${keys[index % keys.length] ?? ''}\r\nContent-Type: application/json\r\n`;
    return `${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${Buffer.from(body).toString('latin1')}`;
  });
}

if (import.meta.main) {
  const plan = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as LoadPlan;
  process.stdout.write(`${JSON.stringify(await run(plan))}\n`);
}
