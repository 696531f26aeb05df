/**
 * How the quota is kept to and used: the whole command in real time, against servers with every kind of limiter, beside
 * two scripts that one would write instead. Contenders of one kind run at once, each against a server of its own.
 * `node bench/quota.ts [--minutes 3] [--kinds fixed,sliding,bucket,gcra] [--rpm 1000,5000] [--neighbour 0] [--plot FILE] [--logs DIR]`
 * Ends with 1 when Millrace hears a 429 or uses less than 99 % (with a neighbour, only the table says so).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MINUTE, type Kind } from '../test/limiter/services.ts';
import { writeLeads } from './support/leads.ts';
import { cpuSeconds, machine, runUntilStopped, startServer, watchCpu } from './support/processes.ts';
import { around, measure, type Limits, type Log, type Measured } from './support/quota-log.ts';
import { plot, type Panel } from './support/quota-plot.ts';

const here = import.meta.dirname;
const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    kinds: { type: 'string', default: 'fixed,sliding,bucket,gcra' },
    rpm: { type: 'string', default: '1000,5000' },
    neighbour: { type: 'string', default: '0' },
    plot: { type: 'string', default: join(here, 'quota.svg') },
    logs: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
const kinds = values.kinds.split(',') as Kind[];
const rpms = values.rpm.split(',').map(Number);
const neighbour = Number(values.neighbour);
const EXIT_STOPPED = 75;
const LEAST_SHARE = 0.99;
/** Shares of the cores above which calls compete with each other and not only with the service. */
const FULL = 0.95;
/** Milliseconds until the first request, which starts a contender's minutes. */
const START_UP_MS = 4_000;

const CONTENDERS = ['millrace', 'Bottleneck', 'p-queue'] as const;
type Contender = (typeof CONTENDERS)[number];

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
let ourCpuSeconds = 0;
const inputOf = (rpm: number): string => join(folder, `leads-${rpm}.csv`);

function command(contender: Contender, rpm: number, url: string, output: string): string[] {
  const script = (name: string): string[] => [process.execPath, join(here, 'support', name), url, inputOf(rpm), output, String(rpm)];
  switch (contender) {
    case 'millrace':
      return [
        process.execPath,
        join(here, '../dist/cli/millrace.js'),
        'run',
        '--input',
        inputOf(rpm),
        '--output',
        output,
        '--steps',
        'enrich',
        '--base-url',
        url,
        '--rpm',
        String(rpm),
        '--progress',
        'none',
      ];
    case 'Bottleneck':
      return script('bottleneck-script.ts');
    case 'p-queue':
      return script('p-queue-script.ts');
    default:
      return contender satisfies never;
  }
}

/** Runs one contender for its minutes. It is stopped in the middle of its file, so that no end of work distorts the figures. */
async function runOne(contender: Contender, limits: Limits): Promise<Log> {
  const name = `${contender}-${limits.kind}-${limits.rpm}`;
  const server = await startServer(join(here, 'support/limited-server.ts'), [JSON.stringify(limits)]);
  const running = runUntilStopped(command(contender, limits.rpm, server.url, join(folder, `${name}.csv`)), { MILLRACE_API_KEY: 'bench' });
  try {
    await after(minutes * MINUTE + START_UP_MS);
    const { elapsedMs, log } = (await (await fetch(`${server.url}/__log`)).json()) as { elapsedMs: number; log: Log };
    ourCpuSeconds += cpuSeconds(server.pid) + cpuSeconds(running.pid);
    const code = await running.stop();
    if (elapsedMs < minutes * MINUTE) throw new Error(`${name} sent its first request too late`);
    if (contender === 'millrace' && code !== EXIT_STOPPED) throw new Error(`millrace left with ${code}`);
    if (values.logs !== undefined) writeFileSync(join(values.logs, `${name}.json`), JSON.stringify({ limits, log }));
    return log;
  } finally {
    await running.kill();
    server.stop();
  }
}

const count = (value: number): string => value.toLocaleString('en-US');
const percent = (share: number | null): string => (share === null ? '-' : `${(share * 100).toFixed(1)} %`);
const line = ({ kind, rpm }: Limits, contender: Contender, found: Measured): string =>
  '| ' +
  [
    kind,
    count(rpm),
    contender,
    count(found.admitted),
    count(found.refused),
    percent(found.share),
    count(found.mostAdmitted),
    count(found.mostSent),
  ].join(' | ') +
  ' |';

const cpu = watchCpu();
try {
  if (values.logs !== undefined) mkdirSync(values.logs, { recursive: true });
  // More than any limiter admits: a full bucket admits an extra minute's quota.
  for (const rpm of rpms) await writeLeads(inputOf(rpm), Math.ceil(rpm * (minutes + 2)));
  const lines: string[] = [];
  const panels: Panel[] = [];
  let kept = true;
  for (const kind of kinds) {
    const cases = CONTENDERS.flatMap((contender) => rpms.map((rpm) => ({ contender, limits: { kind, rpm, neighbour, seed: rpm } })));
    const results = await Promise.all(
      cases.map(async ({ contender, limits }, i) => {
        // Bursts repeat every minute. Evenly staggered starts keep them off each other's cores.
        await after((i * MINUTE) / cases.length);
        const log = await runOne(contender, limits);
        return { contender, limits, log, found: measure(log, limits, minutes * MINUTE) };
      }),
    );
    for (const rpm of rpms) {
      const ofRate = results.filter(({ limits }) => limits.rpm === rpm);
      panels.push({ kind, rpm, tracks: ofRate.map(({ contender, found }) => ({ name: contender, found })) });
      for (const { contender, limits, log, found } of ofRate) {
        lines.push(line(limits, contender, found));
        process.stderr.write(`${lines.at(-1)}\n`);
        if (contender !== 'millrace') continue;
        kept &&= found.refused === 0 && (found.share ?? 1) >= LEAST_SHARE;
        const refused = log.flatMap(([, decision], i) => (decision === 'refused' ? [i] : []));
        for (const i of refused.slice(0, 5)) process.stderr.write(`  ${around(log, i)}\n`);
      }
    }
  }
  cpu.stop();
  process.stdout.write(
    `${[
      `${minutes} minutes each${neighbour > 0 ? `, a neighbour asking for ${percent(neighbour)} of the quota` : ''}; ${machine()}`,
      '',
      '| limiter | a minute | | admitted | 429s | of what there was | most admitted in 60 s | most sent in 60 s |',
      '|---|---:|---|---:|---:|---:|---:|---:|',
      ...lines,
      '',
      `CPU: these processes took ${percent(ourCpuSeconds / availableParallelism() / cpu.shares.length)} of the cores; the machine was ` +
        `busy for ${percent(cpu.shares.reduce((sum, share) => sum + share, 0) / cpu.shares.length)}, and wholly in ` +
        `${cpu.shares.filter((share) => share > FULL).length} of ${cpu.shares.length} seconds`,
    ].join('\n')}\n`,
  );
  writeFileSync(values.plot, plot(panels, minutes * 60));
  if (!kept && neighbour === 0) process.exitCode = 1;
} finally {
  cpu.stop();
  rmSync(folder, { recursive: true });
}
