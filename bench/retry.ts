/**
 * Peak memory of a retry by rows: a quarter of each file has failed. `node bench/retry.ts [rows ...]`
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer } from './support/processes.ts';

const given = process.argv.slice(2).map(Number);
const sizes = given.length > 0 ? given : [200_000, 2_000_000];
const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
try {
  process.stdout.write(
    `${machine()}\n\n| rows | of them failed | retry: requests | peak MiB | ` +
      'of the first | rows a second |\n|---:|---:|---:|---:|---:|---:|\n',
  );
  let first = 0;
  for (const rows of sizes) {
    const server = await startServer(join(here, 'support/forgetful-server.ts'));
    const input = join(folder, 'leads.csv');
    const output = join(folder, `out-${rows}.csv`);
    await writeLeads(input, rows);
    const flags = [
      '--input',
      input,
      '--output',
      output,
      '--steps',
      'verify',
      '--base-url',
      server.url,
      '--plan',
      'enterprise',
      '--max-errors',
      '100%',
      '--progress',
      'none',
    ];
    const millrace = async (
      command: string,
    ): Promise<{ seconds: number; peakMiB: number; report: { records: { failed: number }; calls: { verify: number } } }> => {
      const { code, stderr, ...run } = await runToEnd([process.execPath, join(here, '../dist/cli/millrace.js'), command, ...flags], {
        MILLRACE_API_KEY: 'bench',
      });
      if (code !== 0) throw new Error(`millrace left with ${code}: ${stderr}`);
      return {
        ...run,
        report: JSON.parse(readFileSync(`${output}.report.json`, 'utf8')) as { records: { failed: number }; calls: { verify: number } },
      };
    };
    const run = await millrace('run');
    await fetch(`${server.url}/heal`, { method: 'POST' });
    const retry = await millrace('retry');
    server.stop();
    if (retry.report.records.failed > 0) throw new Error(`${retry.report.records.failed} still failed`);
    first ||= retry.peakMiB;
    const cells = [
      rows,
      run.report.records.failed,
      retry.report.calls.verify - run.report.calls.verify,
      Math.round(retry.peakMiB),
      (retry.peakMiB / first).toFixed(2),
      Math.round(rows / retry.seconds),
    ];
    process.stdout.write(`| ${cells.map((cell) => cell.toLocaleString('en-US')).join(' | ')} |\n`);
    rmSync(output);
  }
} finally {
  rmSync(folder, { recursive: true });
}
