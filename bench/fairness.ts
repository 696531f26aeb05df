/**
 * Whether one request keeps the service from others. Beside each kind of heavy load, on a store of generated contacts, it measures the
 * longest gap of the event loop, and the latency of lookups and searches of other keys. It also measures how many lookups four connections
 * with searches leave.
 * `npx node bench/fairness.ts [contacts] [STORE] [FIGURES]` after `npm run build`. An existing STORE is used as it is, and gets keys. The
 * figures are written to the file FIGURES, or, if it exists, shown beside its own, as "before".
 *
 * The bars: no gap over 50 ms, a p95 of other keys under 100 ms, and half of the lookups. A gap has two figures: processor time of the
 * thread, and wall-clock time, which other processes of the machine lengthen.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { seeded } from '../fixtures/generate/random.ts';
import { createKey } from '../src/service/accounts/keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import type { EndlessPlan, EndlessResult } from './support/endless-load.ts';
import { kindsOf, usualSearches } from './support/fairness-loads.ts';
import type { LoopGaps } from './support/loop-gaps.ts';
import { machine } from './support/processes.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 1_000_000);
const [SECONDS, SETTLE_MS, WARM_UP_MS] = [5, 500, 3_000];
/** Share of the processor that a service without requests takes at most. */
const IDLE_SHARE = 0.3;
/** Requests a second of the other keys. */
const [LOOKUPS, SEARCHES] = [100, 20];
const BATCH_LINES = 50_000;
/** Connections of lookups at full speed, and of searches beside them. */
const [FULL_SPEED, SEARCHING] = [32, 4];

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = process.argv[3] ?? join(folder, 'store.sqlite');
const figuresFile = process.argv[4] ?? null;
const gapsFile = join(folder, 'gaps.json');
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const canPin = spawnSync('taskset', ['--version']).status === 0;
const pinned = (core: number, args: readonly string[]): [string, string[]] =>
  canPin ? ['taskset', ['-c', String(core), process.execPath, ...args]] : [process.execPath, [...args]];

interface Figures {
  readonly gap: LoopGaps;
  readonly lookupMs: number;
  readonly searchMs: number;
  /** Answers to the load, and its megabytes, a second. */
  readonly answers: number;
  readonly megabytes: number;
  readonly statuses: string;
}

interface Report {
  readonly kinds: Readonly<Record<string, Figures>>;
  readonly alone: number;
  readonly beside: number;
}

function prepare(): { keys: string[]; bodies: string[]; lines: string[] } {
  const store = openStore(path);
  try {
    const keys = Array.from({ length: 3 }, () => createKey(store, { plan: 'enterprise', credits: 1_000_000_000, label: 'bench' }).key);
    const people = Number(store.prepare('SELECT max(seq) AS n FROM people').get()?.['n']);
    const random = seeded(7);
    const one = store.prepare('SELECT email FROM people WHERE seq = ? AND email IS NOT NULL');
    const bodies = Array.from({ length: 10_000 }, () => one.get(random.int(1, people))).flatMap((row) =>
      row === undefined ? [] : JSON.stringify({ email: row['email'] }),
    );
    return { keys, bodies, lines: Array.from({ length: BATCH_LINES }, (_, index) => `${bodies[index % bodies.length] ?? ''}\n`) };
  } finally {
    store.close();
  }
}

/** A load that runs until it is ended. */
async function begin(name: string, plan: EndlessPlan): Promise<() => Promise<EndlessResult>> {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(plan));
  const child = spawn(...pinned(1, [here('support/endless-load.ts'), file]), { stdio: ['pipe', 'pipe', 'inherit'] });
  running.add(child);
  child.once('close', () => running.delete(child));
  await sleep(SETTLE_MS);
  return async () => {
    child.stdin.write('\n');
    return JSON.parse(await text(child.stdout)) as EndlessResult;
  };
}

/** Where nothing was answered in time, the time of the measurement. */
const p95 = ({ latencies }: EndlessResult): number => latencies[Math.floor(latencies.length * 0.95)] ?? SECONDS * 1_000;
const answered = ({ statuses }: EndlessResult): number => Object.values(statuses).reduce((sum, count) => sum + count, 0);

/** The longest gaps since the last call. */
async function gapsOf(service: ChildProcess): Promise<LoopGaps> {
  rmSync(gapsFile, { force: true });
  service.kill('SIGWINCH');
  while (!existsSync(gapsFile)) {
    if (service.exitCode !== null) throw new Error('the service has ended');
    await sleep(20);
  }
  return JSON.parse(readFileSync(gapsFile, 'utf8')) as LoopGaps;
}

/** Waits until the service has nothing more to do for clients that are gone. */
async function idle(service: ChildProcess): Promise<void> {
  do await sleep(SETTLE_MS);
  while ((await gapsOf(service)).busy > IDLE_SHARE);
}

async function finishedBatch(url: string, key: string, lines: readonly string[]): Promise<{ done: string; open: string }> {
  const ask = async (method: string, at: string, body?: string, type = 'application/json'): Promise<{ id: string; state: string }> => {
    const response = await fetch(`${url}/v1/batches${at}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string; state: string };
  };
  const { id } = await ask('POST', '', '{"operation":"enrich"}');
  await ask('PUT', `/${id}/parts/1`, lines.join(''), 'application/x-ndjson');
  await ask('POST', `/${id}/complete`);
  while ((await ask('GET', `/${id}`)).state !== 'completed') await sleep(200);
  return { done: id, open: (await ask('POST', '', '{"operation":"enrich"}')).id };
}

function table({ kinds, alone, beside }: Report, before: Report | null): string {
  const line = (...cells: string[]): string => `| ${cells.join(' | ')} |`;
  const show = (of: (report: Report) => number | undefined, report: Report): string =>
    [before, report].flatMap((one) => (one === null ? [] : (of(one)?.toFixed(1) ?? '-'))).join(' > ');
  const rows = Object.keys(kinds).map((name) => {
    const cell = (of: (figures: Figures) => number): string =>
      show((report) => (report.kinds[name] === undefined ? undefined : of(report.kinds[name])), { kinds, alone, beside });
    return line(
      name,
      cell(({ gap }) => gap.cpuMs),
      cell(({ gap }) => gap.wallMs),
      cell(({ lookupMs }) => lookupMs),
      cell(({ searchMs }) => searchMs),
      cell(({ answers }) => answers),
      cell(({ megabytes }) => megabytes),
    );
  });
  return [
    line('beside', 'gap, processor ms', 'gap, ms', 'lookups p95 ms', 'searches p95 ms', 'its answers/s', 'its MB/s'),
    '|---|---:|---:|---:|---:|---:|---:|',
    ...rows,
    '',
    line(`lookups a second over ${FULL_SPEED} connections`, ...(before === null ? [] : ['before']), 'measured'),
    '|---|---:|'.concat(before === null ? '' : '---:|'),
    ...(
      [
        ['alone', (report) => report.alone],
        [`beside ${SEARCHING} connections with searches`, (report) => report.beside],
      ] as const satisfies readonly (readonly [string, (report: Report) => number])[]
    ).map(([name, of]) =>
      line(name, ...[before, { kinds, alone, beside }].flatMap((one) => (one === null ? [] : Math.round(of(one)).toLocaleString('en-US')))),
    ),
  ].join('\n');
}

const running = new Set<ChildProcess>();

let service: ChildProcess | null = null;
try {
  await generatedStore(path, contacts, 'varied');
  const { keys, bodies, lines } = prepare();
  const [heavy = '', other = '', third = ''] = keys;
  const script = [here('../dist/cli/millrace.js'), 'serve', '--store', path, '--port', '0'];
  const monitorPort = 20_000 + (process.pid % 10_000);
  service = spawn(...pinned(0, [...script, '--monitor', String(monitorPort), '--log-level', 'error']), {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, LOOP_GAPS: gapsFile, NODE_OPTIONS: `--import=${here('support/loop-gaps.ts')}` },
  });
  if (service.stdout === null) throw new Error('no output');
  const [said] = (await once(createInterface({ input: service.stdout }), 'line')) as [string];
  const { url } = JSON.parse(said) as { url: string };
  const batch = await finishedBatch(url, other, lines);
  const headers = { 'content-type': 'application/json' };
  const lookups = { url, method: 'POST', paths: ['/v1/enrich'], keys: [other], headers, bodies, connections: LOOKUPS } as const;
  const searches = { ...lookups, paths: ['/v1/contacts/search'], keys: [third], bodies: usualSearches(200) } as const;
  const measured: Record<string, Figures> = {};
  // Code is compiled and caches are filled before anything is measured.
  for (const warmUp of [lookups, searches]) {
    const end = await begin('warm-up', warmUp);
    await sleep(WARM_UP_MS);
    await end();
  }
  for (const { name, plan } of kindsOf(batch.done, batch.open, bodies)) {
    const of = plan.paths[0] === '/metrics' ? `http://127.0.0.1:${monitorPort}` : url;
    const endLoad = await begin('load', {
      headers: {},
      bodies: [],
      ...plan,
      url: of,
      keys: [plan.method === 'PUT' ? other : plan.paths[0]?.includes('batches') === true ? other : heavy],
    });
    const ends = [await begin('lookups', { ...lookups, rate: LOOKUPS }), await begin('searches', { ...searches, rate: SEARCHES })] as const;
    await gapsOf(service);
    await sleep(SECONDS * 1_000);
    const gap = await gapsOf(service);
    const [looked, searched] = [await ends[0](), await ends[1]()];
    const load = await endLoad();
    measured[name] = {
      gap,
      lookupMs: p95(looked),
      searchMs: p95(searched),
      answers: answered(load) / load.seconds,
      megabytes: load.bytes / 1e6 / load.seconds,
      statuses: JSON.stringify([load.statuses, looked.statuses, searched.statuses]),
    };
    process.stderr.write(`${name}: ${JSON.stringify(measured[name])}\n`);
    await idle(service);
  }
  const fullSpeed = async (): Promise<number> => {
    const end = await begin('full', { ...lookups, connections: FULL_SPEED });
    await sleep(SECONDS * 1_000);
    const result = await end();
    return answered(result) / result.seconds;
  };
  await fullSpeed();
  const alone = await fullSpeed();
  const endSearches = await begin('searches', { ...searches, connections: SEARCHING });
  const beside = await fullSpeed();
  await endSearches();
  const report: Report = { kinds: measured, alone, beside };
  const before = figuresFile !== null && existsSync(figuresFile) ? (JSON.parse(readFileSync(figuresFile, 'utf8')) as Report) : null;
  if (figuresFile !== null && before === null) writeFileSync(figuresFile, JSON.stringify(report));
  const cores = canPin ? 'one core for the service, one for all clients' : 'no core of their own';
  process.stdout.write(`${contacts.toLocaleString('en-US')} contacts; ${cores}; ${machine()}\n\n${table(report, before)}\n`);
} finally {
  service?.kill('SIGKILL');
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}
