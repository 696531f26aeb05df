/**
 * Batch jobs on one core, their clients on another: `npx node bench/batches.ts [contacts] [lines] [requests a second]` after `npm run
 * build`.
 * It measures lines a second of enrichment by address, beside the same lines by `POST /v1/enrich/bulk`, and the processor time of both. It
 * also measures the latency of requests with a running job and without, in alternation.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { seeded } from '../fixtures/generate/random.ts';
import { createKey } from '../src/service/accounts/keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import type { LoadPlan, LoadResult } from './support/load.ts';
import { cpuSeconds, machine } from './support/processes.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 100_000);
const lines = Number(process.argv[3] ?? 200_000);
const rate = Number(process.argv[4] ?? 1_000);
const ROUNDS = 5;
const SECONDS = 3;
const CONNECTIONS = 32;
const BULK = 100;
const ADDRESSES = 50_000;
const PART_LINES = 100_000;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const path = join(folder, 'store.sqlite');
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const canPin = spawnSync('taskset', ['--version']).status === 0;
const pinned = (core: number, args: readonly string[]): [string, string[]] =>
  canPin ? ['taskset', ['-c', String(core), process.execPath, ...args]] : [process.execPath, [...args]];
const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
const row = (...cells: string[]): string => `| ${cells.join(' | ')} |`;

function prepare(): { key: string; emails: string[] } {
  const store = openStore(path);
  try {
    const { key } = createKey(store, { plan: 'enterprise', credits: 1_000_000_000 });
    const people = Number(store.prepare('SELECT max(seq) AS n FROM people').get()?.['n']);
    const random = seeded(7);
    const one = store.prepare('SELECT email FROM people WHERE seq = ? AND email IS NOT NULL');
    return {
      key,
      emails: Array.from({ length: ADDRESSES }, () => one.get(random.int(1, people))?.['email']).filter(
        (email) => typeof email === 'string',
      ),
    };
  } finally {
    store.close();
  }
}

await generatedStore(path, contacts);
const { key, emails } = prepare();
const child = spawn(...pinned(0, [here('../dist/cli/millrace.js'), 'serve', '--store', path, '--port', '0', '--log-level', 'error']), {
  stdio: ['ignore', 'pipe', 'inherit'],
});
try {
  const [said] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url } = JSON.parse(said) as { url: string };
  const port = Number(new URL(url).port);
  const pid = child.pid ?? 0;
  const headers = { authorization: `Bearer ${key}` };
  const ask = async (method: string, at: string, body?: string, type = 'application/json'): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/v1/batches${at}`, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${at}: ${response.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  };
  const send = async (count: number): Promise<string> => {
    const { id } = (await ask('POST', '', '{"operation":"enrich"}')) as { id: string };
    for (let from = 0, part = 1; from < count; from += PART_LINES, part++) {
      const some = Array.from(
        { length: Math.min(PART_LINES, count - from) },
        (_, n) => `{"email":"${emails[(from + n) % emails.length] ?? ''}"}\n`,
      );
      await ask('PUT', `/${id}/parts/${part}`, some.join(''), 'application/x-ndjson');
    }
    return id;
  };
  const done = async (id: string): Promise<number> => {
    const { state, counts } = (await ask('GET', `/${id}`)) as { state: string; counts: { total: number; unprocessed: number } };
    return state === 'completed' ? Infinity : counts.total - counts.unprocessed;
  };
  const job = async (): Promise<{ perSecond: number; cpuUs: number }> => {
    const id = await send(lines);
    const [began, cpu] = [performance.now(), cpuSeconds(pid)];
    await ask('POST', `/${id}/complete`);
    while ((await done(id)) < Infinity) await sleep(100);
    const found = { perSecond: (lines * 1_000) / (performance.now() - began), cpuUs: ((cpuSeconds(pid) - cpu) * 1e6) / lines };
    await ask('DELETE', `/${id}`);
    return found;
  };
  const load = (plan: Pick<LoadPlan, 'path' | 'bodies' | 'requests' | 'rate'>): LoadResult & { cpuUs: number } => {
    const file = join(folder, 'plan.json');
    writeFileSync(file, JSON.stringify({ port, keys: [key], connections: CONNECTIONS, ...plan }));
    const cpu = cpuSeconds(pid);
    const result = JSON.parse(execFileSync(...pinned(1, [here('support/load.ts'), file]), { encoding: 'utf8' })) as LoadResult;
    return { ...result, cpuUs: ((cpuSeconds(pid) - cpu) * 1e6) / plan.requests };
  };
  const bulk = (): LoadResult & { cpuUs: number } =>
    load({
      path: '/v1/enrich/bulk',
      rate: null,
      requests: Math.ceil(lines / BULK),
      bodies: Array.from({ length: ADDRESSES / BULK }, (_, n) =>
        JSON.stringify({ requests: emails.slice(n * BULK, (n + 1) * BULK).map((email) => ({ params: { email } })) }),
      ),
    });
  const live = (): LoadResult =>
    load({ path: '/v1/enrich', rate, requests: rate * SECONDS, bodies: emails.slice(0, 10_000).map((email) => JSON.stringify({ email })) });

  await job();
  bulk();
  const jobs = [];
  const bulks = [];
  for (let round = 0; round < ROUNDS; round++) {
    jobs.push(await job());
    bulks.push(bulk());
  }
  const [alone, beside, linesBeside]: [LoadResult[], LoadResult[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    alone.push(live());
    const id = await send(lines * 2);
    await ask('POST', `/${id}/complete`);
    while ((await done(id)) === 0) await sleep(10);
    const [before, began] = [await done(id), performance.now()];
    beside.push(live());
    const after = await done(id);
    if (after === Infinity) throw new Error('the job ended before the requests: ask for more lines');
    linesBeside.push(((after - before) * 1_000) / (performance.now() - began));
    await ask('POST', `/${id}/cancel`);
    while ((await ask('GET', `/${id}`))['state'] !== 'cancelled') await sleep(100);
    await ask('DELETE', `/${id}`);
  }
  const middle = (runs: readonly LoadResult[]): string =>
    (['p50', 'p95', 'p99', 'longest'] as const).map((name) => median(runs.map((run) => run[name])).toFixed(1)).join(', ');
  process.stdout.write(
    `${[
      `${whole(contacts)} contacts, ${whole(lines)} lines by address; ` +
        (canPin ? 'one core for the service, one for its clients' : 'no core of their own') +
        `; median of ${ROUNDS}, in alternation; ${machine()}`,
      '',
      row('', 'lines a second', 'processor, us a line'),
      '|---|---:|---:|',
      row(
        'a batch job, from complete to completed',
        whole(median(jobs.map(({ perSecond }) => perSecond))),
        whole(median(jobs.map(({ cpuUs }) => cpuUs))),
      ),
      row(
        `POST /v1/enrich/bulk, ${BULK} at once, ${CONNECTIONS} connections`,
        whole(median(bulks.map(({ perSecond }) => perSecond * BULK))),
        whole(median(bulks.map(({ cpuUs }) => cpuUs / BULK))),
      ),
      row(`a batch job beside ${whole(rate)} requests a second`, whole(median(linesBeside)), ''),
      '',
      row(`POST /v1/enrich at ${whole(rate)} a second`, 'p50, p95, p99, longest ms'),
      '|---|---:|',
      row('alone', middle(alone)),
      row('beside a batch job', middle(beside)),
      row(
        'p95 of each run, alone and beside',
        `${alone.map(({ p95 }) => p95.toFixed(1)).join(' ')}; ${beside.map(({ p95 }) => p95.toFixed(1)).join(' ')}`,
      ),
    ].join('\n')}\n`,
  );
} finally {
  child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}
