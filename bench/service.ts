/**
 * The service under load on one core, with the load generator on another. Keys, quota, credits and validation are on.
 * It measures lookups by address a second, beside a bare Fastify with a fixed answer of the same size, and beside a Fastify that only
 * reads the same two rows in the store. The bar: no slower than the latter.
 * It also measures latency at 10,000 a second, a burst, the time to start, and memory.
 * `npx node bench/service.ts [contacts] [STORE] [requests]` after `npm run build`. An existing STORE is used as it is, and gets 200 keys.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { seeded } from '../fixtures/generate/random.ts';
import { createKey } from '../src/service/accounts/keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import type { LoadPlan, LoadResult } from './support/load.ts';
import { machine } from './support/processes.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 200_000);
/** Starts that are measured. */
const STARTS = 3;
/**
 * Rounds of bare Fastify and the service in turn. The speed of a shared machine varies, so each is compared with the run right before it.
 */
const ROUNDS = 9;
const requests = Number(process.argv[4] ?? 20_000);
/** Requests before the measurement. */
const WARM_UP = 20_000;
const CONNECTIONS = 64;
const PEAK_RATE = 10_000;
/** Keys of the plan `scale`. Each may send 5,000 at once, so together they allow the whole load. */
const KEYS = 200;
/** Seconds at `PEAK_RATE`. A service that is too slow does not fall further behind after that. */
const STEADY_SECONDS = 3;
const STEADY_ROUNDS = 7;
/** Different addresses in the requests. */
const ADDRESSES = 50_000;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = process.argv[3] ?? join(folder, 'store.sqlite');
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const canPin = spawnSync('taskset', ['--version']).status === 0;
const pinned = (core: number, args: readonly string[]): [string, string[]] =>
  canPin ? ['taskset', ['-c', String(core), process.execPath, ...args]] : [process.execPath, [...args]];

interface Server {
  readonly port: number;
  readonly pid: number;
  /** Milliseconds from the start of the process to its line "ready". */
  readonly readyMs: number;
  stop(): void;
}

const running: Server[] = [];

async function start(args: readonly string[]): Promise<Server> {
  const started = performance.now();
  const child: ChildProcess = spawn(...pinned(0, args), { stdio: ['ignore', 'pipe', 'ignore'] });
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const { url } = JSON.parse(line) as { url: string };
    const server = {
      port: Number(new URL(url).port),
      pid: child.pid ?? 0,
      readyMs: performance.now() - started,
      stop: () => child.kill('SIGKILL'),
    };
    running.push(server);
    return server;
  }
  throw new Error(`${args.join(' ')} did not start`);
}

function load(plan: LoadPlan): LoadResult {
  const file = join(folder, 'plan.json');
  writeFileSync(file, JSON.stringify(plan));
  const result = JSON.parse(execFileSync(...pinned(1, [here('support/load.ts'), file]), { encoding: 'utf8' })) as LoadResult;
  // An overloaded service answers 503; any other status is an error.
  if (Object.keys(result.statuses).some((status) => status !== '200' && status !== '503'))
    throw new Error(`answers other than 200 and 503: ${JSON.stringify(result.statuses)}`);
  return result;
}

function memoryMiB(pid: number, name: 'VmHWM' | 'VmRSS'): number {
  return Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
}

function prepare(): { keys: string[]; bodies: string[]; people: number } {
  const store = openStore(path);
  try {
    const keys = Array.from({ length: KEYS }, () => createKey(store, { plan: 'scale', credits: 1_000_000_000, label: 'bench' }).key);
    const people = Number(store.prepare('SELECT max(seq) AS n FROM people').get()?.['n']);
    const random = seeded(7);
    const one = store.prepare('SELECT email FROM people WHERE seq = ? AND email IS NOT NULL');
    const emails = Array.from({ length: ADDRESSES }, () => one.get(random.int(1, people))?.['email']).filter(
      (email) => email !== undefined,
    );
    return { keys, bodies: emails.map((email) => JSON.stringify({ email })), people };
  } finally {
    store.close();
  }
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const ms = (value: number): string => value.toFixed(1);

try {
  await generatedStore(path, contacts);
  const { keys, bodies, people } = prepare();
  const serve = [here('../dist/cli/millrace.js'), 'serve', '--store', path, '--port', '0'];
  const readyMs: number[] = [];
  for (let round = 0; round < STARTS; round++) {
    const server = await start(serve);
    readyMs.push(server.readyMs);
    server.stop();
  }
  const service = await start(serve);
  const [first = ''] = bodies;
  const reply = await fetch(`http://127.0.0.1:${service.port}/v1/enrich`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keys[0]}`, 'content-type': 'application/json' },
    body: first,
  });
  const bytes = Buffer.byteLength(await reply.text());
  const bare = await start([here('support/bare-fastify.ts'), String(bytes)]);
  const reading = await start([here('support/fastify-over-store.ts'), path]);
  const plan = { path: '/v1/enrich', keys, bodies, connections: CONNECTIONS, requests, rate: null };
  const servers = { bare, reading, service };
  const fastest: Record<keyof typeof servers, LoadResult[]> = { bare: [], reading: [], service: [] };
  const keyed: LoadResult[] = [];
  for (const { port } of Object.values(servers)) load({ ...plan, port, requests: WARM_UP });
  for (let round = 0; round < ROUNDS; round++) {
    for (const who of ['bare', 'reading', 'service'] as const) fastest[who].push(load({ ...plan, port: servers[who].port }));
    keyed.push(load({ ...plan, port: service.port, idempotencyKeys: `round ${round}` }));
  }
  const speed = (who: keyof typeof servers): number => median(fastest[who].map(({ perSecond }) => perSecond));
  const shareOf = (who: keyof typeof servers): number =>
    median(fastest.service.map(({ perSecond }, round) => perSecond / (fastest[who][round]?.perSecond ?? NaN)));
  // A pause of the machine creates a backlog that outlasts one run. Several runs show the figure without it.
  const steadies = Array.from({ length: STEADY_ROUNDS }, () =>
    load({ ...plan, port: service.port, rate: PEAK_RATE, requests: STEADY_SECONDS * PEAK_RATE }),
  );
  const steady = steadies.toSorted((one, other) => one.p95 - other.p95)[Math.floor(STEADY_ROUNDS / 2)] as LoadResult;
  const burst = load({ ...plan, port: service.port, rate: PEAK_RATE, requests: PEAK_RATE, connections: 1_000 });
  const line = (...cells: string[]): string => `| ${cells.join(' | ')} |`;
  const refused = ({ statuses }: LoadResult): number => statuses['503'] ?? 0;
  const latencies = ({ p50, p95, p99 }: LoadResult): string => `${ms(p50)}, ${ms(p95)}, ${ms(p99)}`;
  const [middle] = [...fastest.service].sort((a, b) => a.perSecond - b.perSecond).slice(Math.floor(ROUNDS / 2));
  process.stdout.write(
    `${[
      `${whole(people)} contacts, ${whole(bodies.length)} different addresses, ` +
        `answers of ${whole(bytes)} bytes, ${CONNECTIONS} connections, ${KEYS} keys; ` +
        (canPin ? 'one core for the service, one for the load' : 'no core of their own for service and load') +
        `; median of ${ROUNDS}; ${machine()}`,
      '',
      line('', 'measured', 'wanted'),
      '|---|---:|---:|',
      line('bare Fastify, a fixed answer: requests a second', whole(speed('bare')), ''),
      line('Fastify that reads the two rows of an answer, and no more', whole(speed('reading')), ''),
      line('POST /v1/enrich by address: requests a second', whole(speed('service')), '10,000'),
      line(
        'the same with an Idempotency-Key each, under which the answer is kept',
        whole(median(keyed.map(({ perSecond }) => perSecond))),
        '',
      ),
      line('of the one that reads, right before', shareOf('reading').toFixed(2), '1.00'),
      line('of the bare one right before', shareOf('bare').toFixed(2), ''),
      line('p50, p95, p99 ms at that rate', middle === undefined ? '' : latencies(middle), 'p95 20'),
      line(`p50, p95, p99 ms at ${whole(PEAK_RATE)} a second, from when each was due`, latencies(steady), 'p95 20'),
      line('p95 ms of each of these runs', steadies.map(({ p95 }) => ms(p95)).join(', '), ''),
      line(`a burst of ${whole(PEAK_RATE)} in a second over 1,000 connections: answered within s`, burst.seconds.toFixed(2), '1'),
      line('p50, p95, p99 ms of it', latencies(burst), 'p95 200'),
      line(
        'refused with 503: at the highest rate, at 10,000 a second, in the burst',
        [fastest.service.reduce((sum, one) => sum + refused(one), 0), steadies.reduce((sum, one) => sum + refused(one), 0), refused(burst)]
          .map(whole)
          .join(', '),
        '0, 0, 0',
      ),
      line('ms until it is ready', whole(median(readyMs)), '1,000'),
      line('memory MiB: peak, at the end', `${whole(memoryMiB(service.pid, 'VmHWM'))}, ${whole(memoryMiB(service.pid, 'VmRSS'))}`, '381'),
    ].join('\n')}\n`,
  );
} finally {
  for (const server of running) server.stop();
  rmSync(folder, { recursive: true });
}
