/**
 * Peak memory by rows: the same job on files of different sizes. `node bench/memory.ts [rows ...]`
 * With `--people N` the rows repeat N people, each of which is looked up once; ten million rows then take minutes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer } from './support/processes.ts';

const { positionals, values } = parseArgs({ allowPositionals: true, options: { people: { type: 'string' } } });
const sizes = positionals.length > 0 ? positionals.map(Number) : [100_000, 1_000_000, 10_000_000];
const people = Number(values.people ?? Infinity);
const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const server = await startServer(join(here, 'support/bare-server.ts'));
try {
  process.stdout.write(`${machine()}\n\n| rows | people | peak MiB | of the first | records a second |\n|---:|---:|---:|---:|---:|\n`);
  let first = 0;
  for (const rows of sizes) {
    const input = join(folder, `leads-${rows}.csv`);
    await writeLeads(input, rows, people);
    const flags = [
      '--input',
      input,
      '--output',
      join(folder, `out-${rows}.csv`),
      '--steps',
      'enrich',
      '--base-url',
      server.url,
      '--plan',
      'enterprise',
      '--progress',
      'none',
    ];
    const run = await runToEnd([process.execPath, join(here, '../dist/cli/millrace.js'), 'run', ...flags], { MILLRACE_API_KEY: 'bench' });
    if (run.code !== 0) throw new Error(`millrace left with ${run.code}: ${run.stderr}`);
    first ||= run.peakMiB;
    process.stdout.write(
      `| ${rows.toLocaleString('en-US')} | ${Math.min(rows, people).toLocaleString('en-US')} | ${Math.round(run.peakMiB)} | ` +
        `${(run.peakMiB / first).toFixed(2)} | ${Math.round(rows / run.seconds).toLocaleString('en-US')} |\n`,
    );
  }
} finally {
  server.stop();
  rmSync(folder, { recursive: true });
}
