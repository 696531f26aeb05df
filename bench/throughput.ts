/**
 * Records a second, end to end, against a bare loop and the usual script in the same run.
 * `node bench/throughput.ts [rows]`
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer } from './support/processes.ts';

const rows = Number(process.argv[2] ?? 300_000);
const scriptRows = Math.min(rows, 4_000);
const here = import.meta.dirname;
const cli = join(here, '../dist/cli/millrace.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const server = await startServer(join(here, 'support/bare-server.ts'));
try {
  const input = join(folder, 'leads.csv');
  const few = join(folder, 'few.csv');
  await writeLeads(input, rows);
  await writeLeads(few, scriptRows);
  const perSecond = (script: string, ...args: string[]): number =>
    (JSON.parse(execFileSync(process.execPath, [join(here, 'support', script), ...args], { encoding: 'utf8' })) as { perSecond: number })
      .perSecond;
  const bare: number[] = [];
  const ours: number[] = [];
  let peak = 0;
  for (let round = 0; round < 3; round++) {
    bare.push(perSecond('bare-loop.ts', server.url, String(rows)));
    const flags = [
      '--input',
      input,
      '--output',
      join(folder, `out-${round}.csv`),
      '--steps',
      'enrich',
      '--base-url',
      server.url,
      '--plan',
      'enterprise',
      '--progress',
      'none',
    ];
    const run = await runToEnd([process.execPath, cli, 'run', ...flags], { MILLRACE_API_KEY: 'bench' });
    if (run.code !== 0) throw new Error(`millrace left with ${run.code}: ${run.stderr}`);
    ours.push(rows / run.seconds);
    peak = Math.max(peak, run.peakMiB);
  }
  const script = perSecond('usual-script.ts', server.url, few, join(folder, 'script.csv'));
  const median = (values: number[]): number => values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
  const [loop, millrace] = [median(bare), median(ours)];
  const line = (name: string, value: number): string =>
    `| ${name} | ${Math.round(value).toLocaleString('en-US')} | ${(value / loop).toFixed(2)} | ${(value / script).toFixed(1)} |`;
  process.stdout.write(
    `${[
      `${rows.toLocaleString('en-US')} rows (the usual script: ` +
        `${scriptRows.toLocaleString('en-US')}), median of 3, start-up included; ${machine()}`,
      '',
      '| | records a second | of the bare loop | times the usual script |',
      '|---|---:|---:|---:|',
      line('bare undici Pool loop, no files', loop),
      line('millrace run: CSV in, CSV out, checkpoint and ledger', millrace),
      line('the usual script: fast-csv, Bottleneck, p-queue, fetch', script),
      '',
      `Peak memory of millrace: ${Math.round(peak)} MiB`,
    ].join('\n')}\n`,
  );
} finally {
  server.stop();
  rmSync(folder, { recursive: true });
}
