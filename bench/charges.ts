/**
 * Latency of enrich with a key whose credits are counted, alone and beside `millrace import` of rich rows, which change records all over
 * the directory. The bar: p95 beside an import at most four times that alone.
 * `npx node bench/charges.ts [contacts] [STORE] [requests a second]` after `npm run build`. A missing STORE is created, and stays with what
 * was imported.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { largeSet } from '../fixtures/generate/large.ts';
import { createKey } from '../src/service/accounts/keys.ts';
import { openStore } from '../src/service/store/open-store.ts';
import type { LoadPlan, LoadResult } from './support/load.ts';
import { machine } from './support/processes.ts';
import { richContacts } from './support/rich-contacts.ts';
import { generatedStore } from './support/store.ts';

const contacts = Number(process.argv[2] ?? 50_000);
const rate = Number(process.argv[4] ?? 200);
const ROUNDS = 9;
const SECONDS = 6;
/** Enough for the quota of the plan. */
const KEYS = 20;
/** Enough for an import that outlasts the load. */
const CHANGED_ROWS = 100_000;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const at = (name: string): string => join(folder, name);
const storePath = process.argv[3] ?? at('store.sqlite');
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const cli = here('../dist/cli/millrace.js');
const started: ChildProcess[] = [];

function start(...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [cli, ...args], { stdio: ['ignore', 'pipe', 'ignore'] });
  started.push(child);
  return child;
}

async function portOf({ stdout }: ChildProcess): Promise<number> {
  if (stdout !== null)
    for await (const line of createInterface({ input: stdout })) return Number(new URL((JSON.parse(line) as { url: string }).url).port);
  throw new Error('the service did not start');
}

function load(plan: LoadPlan): LoadResult {
  writeFileSync(at('plan.json'), JSON.stringify(plan));
  return JSON.parse(execFileSync(process.execPath, [here('support/load.ts'), at('plan.json')], { encoding: 'utf8' })) as LoadResult;
}

/** Stands for the time of the report. */
const TIME = '<time>';

/** Records of the directory, each with another title. In a small directory each record changes several times. */
function* changed(): Generator<string> {
  const stride = Math.ceil(contacts / CHANGED_ROWS);
  for (let row = 0, pass = 0; row < CHANGED_ROWS * stride; pass++)
    for (const record of richContacts(largeSet(contacts)))
      if (row++ % stride === 0)
        yield `${JSON.stringify({ ...record, title: `${String(record['title'])} ${pass} ${TIME}`, updated_at: TIME })}\n`;
}

/** The same as reports of now. */
async function* reported(): AsyncGenerator<string> {
  const time = new Date().toISOString();
  for await (const line of createInterface({ input: createReadStream(at('changed.jsonl')) })) yield `${line.replaceAll(TIME, time)}\n`;
}

const ms = (value: number): string => value.toFixed(1);
const median = (of: readonly number[]): number => of.toSorted((one, other) => one - other)[Math.floor(of.length / 2)] ?? NaN;

try {
  await generatedStore(storePath, contacts);
  const store = openStore(storePath);
  const keys = Array.from({ length: KEYS }, () => createKey(store, { plan: 'scale', credits: 1_000_000_000 }).key);
  const bodies = store
    .prepare('SELECT email FROM people WHERE email IS NOT NULL ORDER BY seq LIMIT 5000')
    .all()
    .map(({ email }) => JSON.stringify({ email }));
  store.close();
  await pipeline(Readable.from(changed()), createWriteStream(at('changed.jsonl')));
  const port = await portOf(start('serve', '--store', storePath, '--port', '0'));
  const plan = { port, path: '/v1/enrich', keys, bodies, connections: 16, requests: SECONDS * rate, rate };
  load(plan);
  const rounds: { readonly alone: LoadResult; readonly beside: LoadResult }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const alone = load(plan);
    await pipeline(reported, createWriteStream(at('reported.jsonl')));
    const importing = start('import', '--store', storePath, '--contacts', at('reported.jsonl'));
    // The first transactions have begun by then, whatever the machine does.
    load({ ...plan, requests: rate });
    const beside = load(plan);
    if (importing.exitCode !== null) throw new Error('the import has ended before the load');
    importing.kill('SIGKILL');
    await once(importing, 'exit');
    rounds.push({ alone, beside });
  }
  const line = (what: string, of: (round: (typeof rounds)[number]) => LoadResult): string => {
    const runs = rounds.map(of);
    const times = (['p50', 'p95', 'p99', 'longest'] as const).map((name) => ms(median(runs.map((run) => run[name]))));
    return `| ${what} | ${times.join(' | ')} | ${runs.reduce((sum, { statuses }) => sum + (statuses['503'] ?? 0), 0)} |`;
  };
  const times = median(rounds.map(({ alone, beside }) => beside.p95 / alone.p95));
  process.stdout.write(
    `${[
      `${contacts.toLocaleString('en-US')} contacts, ${rate} charged calls a second; median of ${ROUNDS}; ${machine()}`,
      '',
      '| | p50 ms | p95 ms | p99 ms | longest | refused |',
      '|---|---:|---:|---:|---:|---:|',
      line('alone', ({ alone }) => alone),
      line('beside an import', ({ beside }) => beside),
      '',
      `p95 beside an import: ${times.toFixed(1)} times that alone (median of the rounds)`,
    ].join('\n')}\n`,
  );
} finally {
  for (const child of started) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
}
