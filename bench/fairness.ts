/**
 * Whether one request keeps the service from others. Beside each kind of heavy load, on a store of generated contacts, it measures the
 * longest gap of the event loop, and the latency of lookups and searches of other keys. It also measures how many lookups four connections
 * with searches leave.
 * `npx node bench/fairness.ts [contacts] [STORE] [FIGURES]` after `npm run build`. An existing STORE is used as it is, and gets keys. The
 * figures are written to the file FIGURES, or, if it exists, shown beside its own, as "before".
 *
 * The bars: no gap over 50 ms, a p95 of other keys under 100 ms, and half of the lookups. It ends with 1 when one is missed. A gap has two
 * figures: processor time of the thread, which the bar is for, and wall-clock time, which other processes of the machine lengthen. They
 * lengthen latencies, too: `waited` is the share of the time in which the service had work and no processor. A kind that misses a bar is
 * measured again, up to three times. The last measurement counts, and the longest gap.
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
import { kindsOf, usualSearches, type Kind } from './support/fairness-loads.ts';
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
/** Parts of these lines in a job that outlasts a measurement. */
const PARTS = 20;
/** The bars: processor milliseconds, milliseconds, and a share of the lookups. */
const [MOST_GAP_MS, MOST_P95_MS, LEAST_SHARE] = [50, 100, 0.5];
/** How often what misses a bar is measured, at most. */
const TRIES = 3;
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

/** The Batch API, for one key. */
class Jobs {
  readonly #url: string;
  readonly #key: string;

  constructor(url: string, key: string) {
    this.#url = url;
    this.#key = key;
  }

  /** Begins a job that has `parts` parts of these lines each. Returns its id. */
  async begin(operation: string, lines: readonly string[], parts: number): Promise<string> {
    const id = await this.open(operation);
    for (let part = 1; part <= parts; part++) await this.#ask('PUT', `/${id}/parts/${part}`, lines.join(''), 'application/x-ndjson');
    await this.#ask('POST', `/${id}/complete`);
    return id;
  }

  async open(operation: string): Promise<string> {
    return (await this.#ask('POST', '', JSON.stringify({ operation }))).id;
  }

  async finished(id: string): Promise<string> {
    while ((await this.#ask('GET', `/${id}`)).state !== 'completed') await sleep(200);
    return id;
  }

  async cancel(id: string): Promise<void> {
    await this.#ask('POST', `/${id}/cancel`);
  }

  async #ask(method: string, at: string, body?: string, type = 'application/json'): Promise<{ id: string; state: string }> {
    const response = await fetch(`${this.#url}/v1/batches${at}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string; state: string };
  }
}

/** Runs a command over and over. Returns what ends it. */
function repeat(command: readonly string[]): () => void {
  const args = command.map((one) => (one === 'STORE' ? path : one));
  let child: ChildProcess | null = null;
  let ended = false;
  const begin = (): void => {
    child = spawn(...pinned(1, [here('../dist/cli/millrace.js'), ...args]), { stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('close', () => {
      if (!ended) begin();
    });
  };
  begin();
  return () => {
    ended = true;
    child?.kill('SIGKILL');
  };
}

/** The bars that a kind of load misses. */
function missedBars({ gap, lookupMs, searchMs }: Figures): string[] {
  return [
    ...(gap.cpuMs > MOST_GAP_MS ? [`a gap of ${gap.cpuMs.toFixed(1)} ms`] : []),
    ...(lookupMs > MOST_P95_MS ? [`lookups take ${lookupMs.toFixed(1)} ms`] : []),
    ...(searchMs > MOST_P95_MS ? [`searches take ${searchMs.toFixed(1)} ms`] : []),
  ];
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
      cell(({ gap }) => 100 * gap.waited),
      cell(({ lookupMs }) => lookupMs),
      cell(({ searchMs }) => searchMs),
      cell(({ answers }) => answers),
      cell(({ megabytes }) => megabytes),
    );
  });
  return [
    line('beside', 'gap, processor ms', 'gap, ms', 'waited, %', 'lookups p95 ms', 'searches p95 ms', 'its answers/s', 'its MB/s'),
    '|---|---:|---:|---:|---:|---:|---:|---:|',
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
  const jobs = new Jobs(url, other);
  const batch = { done: await jobs.finished(await jobs.begin('enrich', lines, 1)), open: await jobs.open('enrich') };
  const headers = { 'content-type': 'application/json' };
  const lookups = { url, method: 'POST', paths: ['/v1/enrich'], keys: [other], headers, bodies, connections: LOOKUPS } as const;
  const searches = { ...lookups, paths: ['/v1/contacts/search'], keys: [third], bodies: usualSearches(200) } as const;
  const loaded = service;
  const besides = async ({ plan, command, job }: Kind): Promise<Figures> => {
    const endCommand = command === undefined ? null : repeat(command);
    const jobId = job === undefined ? null : await jobs.begin(job, lines, PARTS);
    const endLoad = await begin('load', {
      headers: {},
      bodies: [],
      ...plan,
      url: plan.paths[0] === '/metrics' ? `http://127.0.0.1:${monitorPort}` : url,
      keys: [plan.paths[0]?.includes('batches') === true ? other : heavy],
    });
    const ends = [await begin('lookups', { ...lookups, rate: LOOKUPS }), await begin('searches', { ...searches, rate: SEARCHES })] as const;
    await gapsOf(loaded);
    await sleep(SECONDS * 1_000);
    const gap = await gapsOf(loaded);
    const [looked, searched] = [await ends[0](), await ends[1]()];
    const load = await endLoad();
    endCommand?.();
    if (jobId !== null) await jobs.cancel(jobId);
    await idle(loaded);
    return {
      gap,
      lookupMs: p95(looked),
      searchMs: p95(searched),
      answers: answered(load) / load.seconds,
      megabytes: load.bytes / 1e6 / load.seconds,
      statuses: JSON.stringify([load.statuses, looked.statuses, searched.statuses]),
    };
  };
  const measured: Record<string, Figures> = {};
  const failures: string[] = [];
  // Code is compiled and caches are filled before anything is measured.
  for (const warmUp of [lookups, searches]) {
    const end = await begin('warm-up', warmUp);
    await sleep(WARM_UP_MS);
    await end();
  }
  for (const kind of kindsOf(batch.done, batch.open, bodies)) {
    let longest = 0;
    for (let tries = 1; tries <= TRIES; tries++) {
      const figures = await besides(kind);
      longest = Math.max(longest, figures.gap.cpuMs);
      const one = { ...figures, gap: { ...figures.gap, cpuMs: longest } };
      measured[kind.name] = one;
      const missed = missedBars(one);
      process.stderr.write(`${kind.name}: ${JSON.stringify(one)}\n`);
      if (missed.length === 0) break;
      if (tries === TRIES)
        failures.push(
          `beside ${kind.name}: ${missed.join(', ')}; the service waited ${Math.round(100 * one.gap.waited)} % of the time for its core`,
        );
    }
  }
  const fullSpeed = async (): Promise<number> => {
    const end = await begin('full', { ...lookups, connections: FULL_SPEED });
    await sleep(SECONDS * 1_000);
    const result = await end();
    return answered(result) / result.seconds;
  };
  await fullSpeed();
  let [alone, beside] = [0, 0];
  for (let tries = 1; tries <= TRIES && beside <= LEAST_SHARE * alone; tries++) {
    alone = await fullSpeed();
    const endSearches = await begin('searches', { ...searches, connections: SEARCHING });
    beside = await fullSpeed();
    await endSearches();
  }
  if (beside < LEAST_SHARE * alone) failures.push(`searches leave ${Math.round((100 * beside) / alone)} % of the lookups`);
  const report: Report = { kinds: measured, alone, beside };
  const before = figuresFile !== null && existsSync(figuresFile) ? (JSON.parse(readFileSync(figuresFile, 'utf8')) as Report) : null;
  if (figuresFile !== null && before === null) writeFileSync(figuresFile, JSON.stringify(report));
  const cores = canPin ? 'one core for the service, one for all clients' : 'no core of their own';
  process.stdout.write(`${contacts.toLocaleString('en-US')} contacts; ${cores}; ${machine()}\n\n${table(report, before)}\n`);
  for (const failure of failures) process.stderr.write(`missed: ${failure}\n`);
  if (failures.length > 0) process.exitCode = 1;
} finally {
  service?.kill('SIGKILL');
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}
