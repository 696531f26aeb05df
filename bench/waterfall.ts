/**
 * One job through the stand-ins of four vendors at once, by the definitions that ship: killed, resumed, and what each has brought at which
 * price. `node bench/waterfall.ts [--records 5000] [--kills 3]`
 * Ends with 1 when a vendor refuses a call, or charges a lookup more often than once and once for each kill.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Checkpoint } from '../src/checkpoint/checkpoint-file.ts';
import { keyVariable } from '../src/definition/job-provider.ts';
import { fourVendorsJob, startFourVendors } from '../test/providers/four-vendors.ts';
import { DEFAULT_API_KEY } from '../test/providers/stand-ins/stand-in.ts';
import { personOf } from '../test/providers/stand-ins/world.ts';
import { seeded } from '../test/support/leads.ts';
import { machine } from './support/processes.ts';

const { values } = parseArgs({ options: { records: { type: 'string', default: '5000' }, kills: { type: 'string', default: '3' } } });
const records = Number(values.records);
const kills = Number(values.kills);
/** Calls that a record needs at least, about: batches of fifty and ten, and a verification. */
const CALLS_OF_A_RECORD = 1.5;
const cli = join(import.meta.dirname, '../dist/cli/millrace.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const vendors = await startFourVendors({ latencyMs: 20 });
const names = Object.keys(vendors) as (keyof typeof vendors)[];
const calls = (): number => names.reduce((sum, name) => sum + vendors[name].counts.requests, 0);

/** Runs the job until its end, or until that many further calls. */
async function run(more: number): Promise<number | null> {
  const environment = Object.fromEntries(names.map((name) => [keyVariable(name), DEFAULT_API_KEY]));
  const child = spawn(process.execPath, [cli, 'run', 'job.yaml', '--progress', 'none'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...environment },
  });
  const target = calls() + more;
  for (const name of names) void vendors[name].when(() => calls() >= target).then(() => child.kill('SIGKILL'));
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

try {
  writeFileSync(join(folder, 'leads.csv'), `email\n${Array.from({ length: records }, (_, i) => personOf(i).email).join('\n')}\n`);
  const job = fourVendorsJob(vendors);
  writeFileSync(join(folder, 'job.yaml'), JSON.stringify({ input: { uri: 'leads.csv' }, output: { uri: 'out.csv' }, ...job }));
  const random = seeded(1);
  let killed = 0;
  for (let kill = 0; kill < kills; kill++)
    if ((await run(1 + Math.floor(random() * ((records * CALLS_OF_A_RECORD) / kills)))) === null) killed++;
  const code = await run(Infinity);
  if (code !== 0) throw new Error(`millrace left with ${code}`);

  const { mark, providers = {} } = JSON.parse(readFileSync(join(folder, 'out.csv.checkpoint.json'), 'utf8')) as Checkpoint;
  const count = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 });
  const rows = Object.entries(mark.tally.providers ?? {}).flatMap(([step, of]) =>
    Object.entries(of).map(
      ([name, { asked, matched, missed, rows: filled, first, fields }]) =>
        `| ${step} | ${name} | ${[asked, matched, missed, filled, first, fields].map(count).join(' | ')} |`,
    ),
  );
  const charges = names.map((name) => {
    const { counts, paidFor } = vendors[name];
    const price = Number.parseFloat(String(job.providers[name]?.['creditPrice']));
    const again = [...paidFor.values()].filter((times) => times > 1).length;
    const told = providers[name]?.totals.credits ?? 0;
    const counted = [counts.requests, told, counts.charged, again].map(count);
    return `| ${[name, ...counted].join(' | ')} | ${(counts.charged * price).toFixed(2)} EUR |`;
  });
  process.stdout.write(
    `${[
      `${count(records)} records, ${killed} of ${kills + 1} runs killed; ${machine()}`,
      '',
      '| step | provider | asked | found | missed | rows it filled | first to find | fields |',
      '|---|---|---:|---:|---:|---:|---:|---:|',
      ...rows,
      '',
      '| provider | calls | credits, as the job counts | credits charged | lookups charged again | price |',
      '|---|---:|---:|---:|---:|---:|',
      ...charges,
    ].join('\n')}\n`,
  );
  const refused = names.some((name) => vendors[name].counts.refused429 + vendors[name].counts.refusedOther > 0);
  const tooOften = names.some((name) => [...vendors[name].paidFor.values()].some((times) => times > 1 + killed));
  if (refused || tooOften) process.exitCode = 1;
} finally {
  await Promise.all(names.map((name) => vendors[name].close()));
  rmSync(folder, { recursive: true });
}
