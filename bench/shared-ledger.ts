/**
 * Jobs that run at once on one ledger file and ask for the same people: `node bench/shared-ledger.ts [lookups] [jobs] [latency ms]`.
 * Counts the lookups that the service was asked for twice: undisturbed, and with the first job killed (SIGKILL) halfway and run again.
 * Then one job alone, with the same flags. The ledger's share is measured by Node's CPU profiler, in the undisturbed runs.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScriptedService } from '../test/support/scripted-service.ts';
import { writeLeads } from './support/leads.ts';
import { machine } from './support/processes.ts';
import { shareOf } from './support/profile-share.ts';

const lookups = Number(process.argv[2] ?? 900);
const jobs = Number(process.argv[3] ?? 2);
const latencyMs = Number(process.argv[4] ?? 5);
const CONCURRENCY = 8;
const COMMAND = join(import.meta.dirname, '../dist/cli/millrace.js');
const API_KEY = 'mr_test_5ecret-never-to-be-seen-0123456789';

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const input = join(folder, 'leads.csv');
const service = await ScriptedService.start();
service.latencyMs = latencyMs;

interface Started {
  readonly ended: Promise<number | null>;
  readonly kill: () => void;
}

function start(trial: string, job: number, profile: boolean): Started {
  const profiler = profile ? ['--cpu-prof', `--cpu-prof-dir=${join(folder, `${trial}-profile-${job}`)}`] : [];
  const flags = [
    '--input',
    input,
    '--name',
    `job-${job}`,
    '--output',
    join(folder, `${trial}-${job}.csv`),
    '--steps',
    'enrich',
    '--base-url',
    service.url,
    '--plan',
    'enterprise',
    '--concurrency',
    String(CONCURRENCY),
  ];
  const child = spawn(
    process.execPath,
    [...profiler, COMMAND, 'run', ...flags, '--ledger', join(folder, `${trial}.ledger`), '--ledger.maxAgeDays', '1', '--progress', 'none'],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, MILLRACE_API_KEY: API_KEY } },
  );
  return { ended: once(child, 'close').then(([code]) => code as number | null), kill: () => child.kill('SIGKILL') };
}

const lines: string[] = [];
function note(trial: string, seconds: number, share: string): void {
  const twice = service.repeated;
  lines.push(
    `| ${trial} | ${service.asked.size} | ${twice} | ` +
      `${((twice / service.asked.size) * 100).toFixed(2)} % | ${seconds.toFixed(1)} | ${share} |`,
  );
  service.forget();
}

async function together(count: number, trial: string): Promise<void> {
  const began = performance.now();
  const all = Array.from({ length: count }, (_, job) => start(trial, job, true));
  const codes = await Promise.all(all.map(({ ended }) => ended));
  if (codes.some((code) => code !== 0)) throw new Error(`jobs left with ${codes.join(', ')}`);
  const seconds = (performance.now() - began) / 1_000;
  const shares = all.map((_, job) => shareOf(join(folder, `${trial}-profile-${job}`), '/dist/ledger/'));
  note(
    trial,
    seconds,
    shares
      .map(
        ({ total, busy, within }) =>
          `${((within / total) * 100).toFixed(1)} % (${((within / busy) * 100).toFixed(1)} % of busy time, ` +
          `${(within / lookups).toFixed(1)} us a lookup)`,
      )
      .join('; '),
  );
}

try {
  await writeLeads(input, lookups);
  await together(jobs, 'at once');
  const began = performance.now();
  const [first, ...others] = Array.from({ length: jobs }, (_, job) => start('killed', job, false));
  await service.when(() => service.answered >= lookups / 2);
  first?.kill();
  await first?.ended;
  await Promise.all(others.map(({ ended }) => ended));
  await start('killed', 0, false).ended;
  note('one killed', (performance.now() - began) / 1_000, '');
  await together(1, 'alone');
  process.stdout.write(
    `${jobs} jobs at ${CONCURRENCY} calls at once, ${latencyMs} ms a call; ${machine()}\n\n` +
      `| | lookups | asked twice | share | seconds | the ledger's share of the run's time |\n` +
      `|---|---:|---:|---:|---:|---|\n${lines.join('\n')}\n`,
  );
} finally {
  await service.stop();
  rmSync(folder, { recursive: true });
}
