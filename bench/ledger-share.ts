/**
 * Measures the share of its own time that a run spends in the ledger: `node bench/ledger-share.ts [rows]`.
 * One run with Node's CPU profiler, all addresses different, no quota. The share is that of samples with a function of the ledger on the
 * stack, among samples in which the main thread was not idle.
 * The profiler samples by the clock, so waiting for the disk within a write counts.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer } from './support/processes.ts';
import { shareOf } from './support/profile-share.ts';

const rows = Number(process.argv[2] ?? 300_000);
const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));

const server = await startServer(join(here, 'support/bare-server.ts'));
try {
  const input = join(folder, 'leads.csv');
  await writeLeads(input, rows);
  const flags = [
    '--input',
    input,
    '--output',
    join(folder, 'out.csv'),
    '--steps',
    'enrich',
    '--base-url',
    server.url,
    '--plan',
    'enterprise',
    '--progress',
    'none',
  ];
  const run = await runToEnd(
    [process.execPath, '--cpu-prof', `--cpu-prof-dir=${join(folder, 'profile')}`, join(here, '../dist/cli/millrace.js'), 'run', ...flags],
    { MILLRACE_API_KEY: 'bench' },
  );
  if (run.code !== 0) throw new Error(`millrace left with ${run.code}: ${run.stderr}`);
  const { busy, within: ledger } = shareOf(join(folder, 'profile'), '/dist/ledger/');
  process.stdout.write(
    `${[
      `${rows.toLocaleString('en-US')} rows, ${Math.round(rows / run.seconds).toLocaleString('en-US')}` +
        ` a second under the profiler; ${machine()}`,
      '',
      '| of the main thread | us a row | share |',
      '|---|---:|---:|',
      `| busy | ${(busy / rows).toFixed(1)} | 100 % |`,
      `| in the ledger | ${(ledger / rows).toFixed(1)} | ${((ledger / busy) * 100).toFixed(1)} % |`,
    ].join('\n')}\n`,
  );
} finally {
  server.stop();
  rmSync(folder, { recursive: true });
}
