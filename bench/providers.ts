/**
 * The cost of providers. Records a second by the typed client, by that client as a provider, by the same service with declared mappings,
 * and by a declared vendor, in turn in one run. Then the peak memory of a waterfall over three providers, by rows.
 * `node bench/providers.ts [--rows 200000] [--rounds 3] [--sizes 100000,400000] [--only 'typed client']`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer, type Finished } from './support/processes.ts';

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    sizes: { type: 'string', default: '100000,400000' },
  },
});
const rows = Number(values.rows);
const rounds = Number(values.rounds);
const sizes = values.sizes.split(',').map(Number);
/** The contenders whose names have this word; absent: all, and the memory. */
const { only } = values;
const here = import.meta.dirname;
const cli = join(here, '../dist/cli/millrace.js');
const vendor = join(here, 'support/vendor.yaml');
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const servers: Awaited<ReturnType<typeof startServer>>[] = [];

/** A vendor or the service. @param share it knows one person of this number */
async function server(share = 1): Promise<string> {
  const started = await startServer(join(here, 'support/bare-server.ts'), [String(share)]);
  servers.push(started);
  return started.url;
}

/** Runs a job to its end. */
async function run(name: string, input: string, job: Readonly<Record<string, unknown>>): Promise<Finished> {
  const path = join(folder, `${name}.yaml`);
  writeFileSync(path, JSON.stringify({ input: { uri: input }, output: { uri: join(folder, `${name}.csv`) }, ...job }));
  const names = ['millrace', 'declared', 'vendor', 'first', 'second', 'third'];
  const keys = Object.fromEntries(names.map((one) => [`MILLRACE_${one.toUpperCase()}_API_KEY`, 'bench']));
  const found = await runToEnd([process.execPath, cli, 'run', path, '--progress', 'none'], { ...keys, MILLRACE_API_KEY: 'bench' });
  if (found.code !== 0) throw new Error(`${name} left with ${found.code}: ${found.stderr}`);
  return found;
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

try {
  const url = await server();
  const input = join(folder, 'leads.csv');
  await writeLeads(input, rows);
  const declared = join(folder, 'declared-millrace.yaml');
  writeFileSync(declared, JSON.stringify({ name: 'declared', use: 'millrace', client: 'declared' }));
  const one = (name: string, settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => ({
    providers: { [name]: { baseUrl: url, ...settings } },
    steps: [{ enrich: { from: [name] } }],
  });
  const contenders: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
    'the typed client': { service: { baseUrl: url, plan: 'enterprise' }, steps: ['enrich'] },
    'the typed client, as a provider': one('millrace', { use: 'millrace', plan: 'enterprise' }),
    'the same service, declared': one('declared', { use: declared, plan: 'enterprise' }),
    'a declared vendor': one('vendor', { use: vendor }),
  };
  const found = new Map<string, number[]>();
  const cpu = new Map<string, number[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [index, [name, job]] of Object.entries(contenders).entries()) {
      if (only !== undefined && !name.includes(only)) continue;
      const { seconds, cpuSeconds } = await run(`job-${index}-${round}`, input, job);
      found.set(name, [...(found.get(name) ?? []), rows / seconds]);
      cpu.set(name, [...(cpu.get(name) ?? []), (cpuSeconds * 1e6) / rows]);
    }
  }
  const median = (of: readonly number[]): number => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)] ?? 0;
  // On a machine with other work the CPU is the steadier number.
  const share = (of: ReadonlyMap<string, readonly number[]>, name: string): string =>
    (median(of.get(name) ?? []) / median(of.get('the typed client') ?? [])).toFixed(2);
  const lines = [...found].map(
    ([name, of]) =>
      `| ${name} | ${count(median(of))} | ${share(found, name)} | ${median(cpu.get(name) ?? []).toFixed(0)} | ${share(cpu, name)} |`,
  );
  process.stdout.write(
    `${[
      `${count(rows)} rows, median of ${rounds}, start-up included; ${machine()}`,
      '',
      '| | records a second | of the typed client | CPU us a record | of the typed client |',
      '|---|---:|---:|---:|---:|',
      ...lines,
      '',
    ].join('\n')}\n`,
  );

  if (only === undefined) await measureMemory();
} finally {
  for (const { stop } of servers) stop();
  rmSync(folder, { recursive: true });
}

async function measureMemory(): Promise<void> {
  process.stdout.write('| rows | providers | peak MiB | of the first | records a second |\n|---:|---:|---:|---:|---:|\n');
  // The first knows one person in three, the second one in two, the third all.
  const waterfall = {
    providers: {
      first: { use: vendor, baseUrl: await server(3) },
      second: { use: vendor, baseUrl: await server(2) },
      third: { use: vendor, baseUrl: await server() },
    },
    steps: [{ enrich: { from: ['first', 'second', 'third'] } }],
  };
  let least = 0;
  for (const size of sizes) {
    const leads = join(folder, `leads-${size}.csv`);
    await writeLeads(leads, size);
    const { peakMiB, seconds } = await run(`waterfall-${size}`, leads, waterfall);
    least ||= peakMiB;
    process.stdout.write(`| ${count(size)} | 3 | ${count(peakMiB)} | ${(peakMiB / least).toFixed(2)} | ${count(size / seconds)} |\n`);
  }
}
