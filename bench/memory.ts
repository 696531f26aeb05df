/**
 * Peak memory by rows: the same job on files of different size. `node bench/memory.ts [rows ...]`
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer } from './support/processes.ts';

const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [200_000, 2_000_000];
const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const server = await startServer(join(here, 'support/bare-server.ts'));
try {
  process.stdout.write(`${machine()}\n\n| rows | peak MiB | of the first | records a second |\n|---:|---:|---:|---:|\n`);
  let first = 0;
  for (const rows of sizes) {
    const input = join(folder, `leads-${rows}.csv`);
    await writeLeads(input, rows);
    const flags = ['--input', input, '--output', join(folder, `out-${rows}.csv`), '--steps', 'enrich', '--base-url', server.url, '--plan', 'enterprise', '--progress', 'none'];
    const run = await runToEnd([process.execPath, join(here, '../dist/cli/millrace.js'), 'run', ...flags], { MILLRACE_API_KEY: 'bench' });
    if (run.code !== 0) throw new Error(`millrace left with ${run.code}: ${run.stderr}`);
    first ||= run.peakMiB;
    process.stdout.write(`| ${rows.toLocaleString('en-US')} | ${Math.round(run.peakMiB)} | ${(run.peakMiB / first).toFixed(2)} | ${Math.round(rows / run.seconds).toLocaleString('en-US')} |\n`);
  }
} finally {
  server.stop();
  rmSync(folder, { recursive: true });
}
