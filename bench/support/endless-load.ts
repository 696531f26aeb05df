/**
 * Sends one request after another on each connection, and drops the answers: `node bench/support/endless-load.ts PLAN.json`. A line on its
 * standard input ends it. Then it prints the number of answers by status, their bytes and their latencies.
 */
import { readFileSync } from 'node:fs';
import { Agent, request, type IncomingMessage } from 'node:http';

export interface EndlessPlan {
  readonly url: string;
  readonly connections: number;
  readonly method: 'GET' | 'POST' | 'PUT';
  /** Taken in turn, as the keys and bodies are. */
  readonly paths: readonly string[];
  readonly keys: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly bodies: readonly string[];
  /** A body of this many bytes in place of `bodies`, made of repetitions of the first. */
  readonly bodyBytes?: number;
  /** An answer without an end, such as a stream of events, is left when nothing came for this long. */
  readonly silentMs?: number;
  /** Requests a second of all connections together; absent: each follows the answer before it. */
  readonly rate?: number;
}

export interface EndlessResult {
  readonly statuses: Readonly<Record<string, number>>;
  readonly bytes: number;
  readonly seconds: number;
  /** Milliseconds from when a request was due to the end of its answer, ascending. */
  readonly latencies: readonly number[];
}

const statuses: Record<string, number> = {};
const latencies: number[] = [];
const ended = new AbortController();
let [bytes, next] = [0, 0];

function ask(plan: EndlessPlan, agent: Agent, body: Buffer | null): Promise<void> {
  const at = next++;
  const of = (list: readonly string[]): string => list[at % list.length] ?? '';
  const text = body ?? (plan.bodies.length === 0 ? null : Buffer.from(of(plan.bodies)));
  const startedMs = performance.now();
  return new Promise((resolve) => {
    const sent = request(`${plan.url}${of(plan.paths)}`, {
      method: plan.method,
      agent,
      headers: {
        ...plan.headers,
        authorization: `Bearer ${of(plan.keys)}`,
        ...(text === null ? {} : { 'content-length': String(text.length) }),
      },
    });
    const end = (status: string): void => {
      statuses[status] = (statuses[status] ?? 0) + 1;
      latencies.push(performance.now() - startedMs);
      resolve();
    };
    sent.on('error', (error) => end(error.message));
    sent.on('response', (answer: IncomingMessage) => {
      const status = String(answer.statusCode);
      let silence: NodeJS.Timeout | undefined;
      const wait = (): void => {
        if (plan.silentMs === undefined) return;
        clearTimeout(silence);
        silence = setTimeout(() => {
          answer.destroy();
          end(status);
        }, plan.silentMs);
      };
      wait();
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        wait();
      });
      answer.on('end', () => end(status));
      answer.on('error', () => undefined);
    });
    sent.end(text ?? undefined);
  });
}

function bodyOf({ bodies: [line = ''], bodyBytes }: EndlessPlan): Buffer | null {
  return bodyBytes === undefined ? null : Buffer.from(line.repeat(Math.floor(bodyBytes / line.length)));
}

/** Sends each request when it is due, whatever happened to those before it, where a connection is free. */
async function paced(plan: EndlessPlan, agent: Agent, rate: number): Promise<void> {
  const startedMs = performance.now();
  for (let sent = 0; !ended.signal.aborted; sent++) {
    const dueMs = startedMs + (sent * 1_000) / rate;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueMs - performance.now())));
    void ask(plan, agent, null);
  }
}

if (import.meta.main) {
  const plan = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as EndlessPlan;
  const agent = new Agent({ keepAlive: true, maxSockets: plan.connections });
  const body = bodyOf(plan);
  const startedMs = performance.now();
  process.stdin.once('data', () => {
    ended.abort();
    latencies.sort((one, other) => one - other);
    const result: EndlessResult = { statuses, bytes, seconds: (performance.now() - startedMs) / 1_000, latencies };
    process.stdout.write(JSON.stringify(result), () => process.exit());
  });
  if (plan.rate !== undefined) await paced(plan, agent, plan.rate);
  else
    await Promise.all(
      Array.from({ length: plan.connections }, async () => {
        while (!ended.signal.aborted) await ask(plan, agent, body);
      }),
    );
}
