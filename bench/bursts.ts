/**
 * How a limiter that permits few requests at once is learnt, in real time. The whole command asks a server that admits 50 a second and
 * states nothing. A job may name that rate in several ways.
 * `node bench/bursts.ts [--seconds 40] [--bursts 1,5,25,50] [--ways rpm,windows,provider] [--at-once 2]`
 * Ends with 1 when, after the first ten seconds, a case reaches less than 90 % of the rate or has 1 % of its requests refused.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Bursty, BurstyLog } from './support/bursty-server.ts';
import { writeLeads } from './support/leads.ts';
import { machine, runUntilStopped, startServer, watchCpu } from './support/processes.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '40' },
    bursts: { type: 'string', default: '1,5,25,50' },
    ways: { type: 'string', default: 'rpm,windows,provider' },
    'at-once': { type: 'string', default: '2' },
  },
});
const here = import.meta.dirname;
const PER_SECOND = 50;
const SECOND = 1_000;
/** The time in which a run may learn. */
const LEARNING_MS = 10 * SECOND;
const endMs = Number(values.seconds) * SECOND;
const EXIT_STOPPED = 75;
const WANTED = { used: 0.9, refused: 0.01 } as const;

/** The ways in which a job names the rate. */
const WAYS: Readonly<Record<string, { readonly name: string; readonly job: (url: string) => Record<string, unknown> }>> = {
  rpm: { name: '--rpm 3000', job: (baseUrl) => ({ service: { baseUrl, rpm: 60 * PER_SECOND }, steps: ['enrich'] }) },
  windows: {
    name: 'service.windows 50/second',
    job: (baseUrl) => ({ service: { baseUrl, plan: 'enterprise', windows: [`${PER_SECOND}/second`] }, steps: ['enrich'] }),
  },
  provider: {
    name: "a provider's 50/second",
    job: (baseUrl) => ({
      providers: { vendor: { use: join(here, 'support/vendor.yaml'), baseUrl, windows: [`${PER_SECOND}/second`] } },
      steps: [{ enrich: { from: ['vendor'] } }],
    }),
  },
};

interface Case extends Bursty {
  readonly way: string;
}

const ways = values.ways.split(',');
const cases: readonly Case[] = ways.flatMap((way) =>
  values.bursts
    .split(',')
    .map(Number)
    .flatMap((burst) => [null, 1].map((retryAfter) => ({ way, burst, retryAfter, perSecond: PER_SECOND }))),
);

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));

async function runOne({ way, ...bursty }: Case, name: string): Promise<BurstyLog> {
  const server = await startServer(join(here, 'support/bursty-server.ts'), [JSON.stringify(bursty)]);
  const job = {
    input: { uri: join(folder, 'leads.csv') },
    output: { uri: join(folder, `${name}.csv`) },
    ...WAYS[way]?.job(server.url),
  };
  writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(job));
  const command = [process.execPath, join(here, '../dist/cli/millrace.js'), 'run', join(folder, `${name}.yaml`), '--progress', 'none'];
  const running = runUntilStopped(command, { MILLRACE_API_KEY: 'bench', MILLRACE_VENDOR_API_KEY: 'bench' });
  const logNow = async (): Promise<{ readonly elapsedMs: number; readonly log: BurstyLog }> =>
    (await (await fetch(`${server.url}/__log`)).json()) as { elapsedMs: number; log: BurstyLog };
  try {
    let now = await logNow();
    for (; now.elapsedMs < endMs; now = await logNow()) await after(Math.min(endMs - now.elapsedMs, 2 * SECOND));
    const code = await running.stop();
    if (code !== EXIT_STOPPED) throw new Error(`millrace left with ${code}`);
    return now.log;
  } finally {
    await running.kill();
    server.stop();
  }
}

const cpu = watchCpu();
try {
  // More than a run can ask for, so that no end of work distorts the figures.
  await writeLeads(join(folder, 'leads.csv'), Math.ceil(2 * PER_SECOND * (endMs / SECOND + 30)));
  const lines: string[] = [];
  let kept = true;
  const waiting = [...cases.entries()];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [at, one] = next;
      const within = (await runOne(one, `case-${at}`)).filter(([atMs]) => atMs >= LEARNING_MS && atMs < endMs);
      const refused = within.filter(([, isRefused]) => isRefused).length;
      const used = (within.length - refused) / ((PER_SECOND * (endMs - LEARNING_MS)) / SECOND);
      const share = refused / Math.max(1, within.length);
      kept &&= used >= WANTED.used && share < WANTED.refused;
      const retryAfter = one.retryAfter === null ? 'no' : `${one.retryAfter} s`;
      lines[at] = `| ${WAYS[one.way]?.name} | ${one.burst} | ${retryAfter} | ${percent(used)} | ${refused} | ${percent(share)} |`;
      process.stderr.write(`${lines[at]}\n`);
    }
  };
  await Promise.all(Array.from({ length: Number(values['at-once']) }, work));
  cpu.stop();
  const busy = cpu.shares.reduce((sum, share) => sum + share, 0) / cpu.shares.length;
  process.stdout.write(
    `${[
      `${values.seconds} s each, ${values['at-once']} at once, of them the first 10 left out; ${machine()}`,
      '',
      '| the rate by | burst | Retry-After | of 50 a second | refused | of the requests |',
      '|---|---:|---|---:|---:|---:|',
      ...lines,
      '',
      `The machine was busy for ${percent(busy)}`,
    ].join('\n')}\n`,
  );
  if (!kept) process.exitCode = 1;
} finally {
  cpu.stop();
  rmSync(folder, { recursive: true });
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
