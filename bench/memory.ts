/**
 * Peak memory by rows: the same job on files of different sizes. `node bench/memory.ts [rows ...]`
 * With `--people N` the rows repeat N people, each of which is looked up once; ten million rows then take minutes.
 * With `--wide` the job has three providers, a custom step by a number that enrich finds, and conditions.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeLeads } from './support/leads.ts';
import { machine, runToEnd, startServer } from './support/processes.ts';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { people: { type: 'string' }, wide: { type: 'boolean', default: false } },
});
const sizes = positionals.length > 0 ? positionals.map(Number) : [100_000, 1_000_000, 10_000_000];
const people = Number(values.people ?? Infinity);
const KEYS = { MILLRACE_API_KEY: 'bench', MILLRACE_A_API_KEY: 'bench', MILLRACE_B_API_KEY: 'bench', MILLRACE_C_API_KEY: 'bench' };
const here = import.meta.dirname;
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const servers = await Promise.all(
  (values.wide ? ['2', '3', '1'] : ['1']).map((share) => startServer(join(here, 'support/bare-server.ts'), [share])),
);
const [server = { url: '' }] = servers;

/** The flags of the plain job, or the file of the wide one. */
function jobOf(input: string, output: string): string[] {
  if (!values.wide) return ['--input', input, '--output', output, '--steps', 'enrich', '--base-url', server.url, '--plan', 'enterprise'];
  const names = ['a', 'b', 'c'];
  const use = join(here, 'support/wide-vendor.yaml');
  const job = {
    input: { uri: input },
    output: { uri: output },
    providers: Object.fromEntries(names.map((name, at) => [name, { use, baseUrl: servers[at]?.url }])),
    steps: [
      { enrich: { from: names, until: ['mobile'], when: "input.Country = 'NL'" } },
      { phone: { from: ['c'], by: ['enrich.mobile'], when: 'enrich.company.employees >= 50 and enrich.mobile is not empty' } },
    ],
  };
  const file = `${output}.job.json`;
  writeFileSync(file, JSON.stringify(job));
  return [file];
}

try {
  process.stdout.write(`${machine()}\n\n| rows | people | peak MiB | of the first | records a second |\n|---:|---:|---:|---:|---:|\n`);
  let first = 0;
  for (const rows of sizes) {
    const input = join(folder, `leads-${rows}.csv`);
    await writeLeads(input, rows, people);
    const job = jobOf(input, join(folder, `out-${rows}.csv`));
    const command = [process.execPath, join(here, '../dist/cli/millrace.js'), 'run', ...job, '--progress', 'none'];
    const run = await runToEnd(command, KEYS);
    if (run.code !== 0) throw new Error(`millrace left with ${run.code}: ${run.stderr}`);
    first ||= run.peakMiB;
    process.stdout.write(
      `| ${rows.toLocaleString('en-US')} | ${Math.min(rows, people).toLocaleString('en-US')} | ${Math.round(run.peakMiB)} | ` +
        `${(run.peakMiB / first).toFixed(2)} | ${Math.round(rows / run.seconds).toLocaleString('en-US')} |\n`,
    );
  }
} finally {
  for (const one of servers) one.stop();
  rmSync(folder, { recursive: true });
}
