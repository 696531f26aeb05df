/**
 * One job in several processes: each runs a shard of it, `--shard i/N` of one input and one output, against one server with a limiter, and
 * they share a quota in a Redis server of the bench's own. Then the same, with one of them killed a third of the way and started again.
 * `node bench/pods.ts [--pods 4] [--minutes 3] [--rpm 1000] [--kind sliding] [--quiet-only]`
 * Needs redis-server in the PATH. Ends with 1 when there was a 429, or, without a kill, less than 99 % was used.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MINUTE, type Kind } from '../test/limiter/services.ts';
import { RedisServer } from '../test/services/redis.ts';
import { writeLeads } from './support/leads.ts';
import { machine, runUntilStopped, startServer, watchCpu, type Running } from './support/processes.ts';
import { around, measure, type Log, type Measured } from './support/quota-log.ts';

const here = import.meta.dirname;
const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '4' },
    minutes: { type: 'string', default: '3' },
    rpm: { type: 'string', default: '1000' },
    kind: { type: 'string', default: 'sliding' },
    'quiet-only': { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const pods = Number(values.pods);
const limits = { kind: values.kind as Kind, rpm: Number(values.rpm), neighbour: 0, seed: 1 };
const LEAST_SHARE = 0.99;
const EXIT_STOPPED = 75;
/** Milliseconds until the first request, which starts the measurement. */
const START_UP_MS = 15_000;
/** Milliseconds that a killed pod is missing. */
const MISSING_MS = 5_000;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));

function startPod(number: number, round: string, url: string, redis: string): Running {
  const output = join(folder, `${round}.csv`);
  const shard = `${number}/${pods}`;
  return runUntilStopped(
    [
      process.execPath,
      join(here, '../dist/cli/millrace.js'),
      'run',
      '--shard',
      shard,
      '--input',
      join(folder, 'leads.csv'),
      '--output',
      output,
      '--steps',
      'enrich',
      '--base-url',
      url,
      '--rpm',
      String(limits.rpm),
      '--service.quota',
      redis,
      '--progress',
      'none',
    ],
    { MILLRACE_API_KEY: 'bench' },
  );
}

async function round(name: string, kills: boolean): Promise<{ log: Log; found: Measured }> {
  const redis = await RedisServer.start();
  const server = await startServer(join(here, 'support/limited-server.ts'), [JSON.stringify(limits)]);
  const running = Array.from({ length: pods }, (_, number) => startPod(number, name, server.url, redis.uri));
  try {
    await after((minutes * MINUTE) / 3);
    if (kills) {
      await running[0]?.kill();
      await after(MISSING_MS);
      running[0] = startPod(0, name, server.url, redis.uri);
    }
    await after((minutes * MINUTE * 2) / 3 + START_UP_MS);
    const { elapsedMs, log } = (await (await fetch(`${server.url}/__log`)).json()) as { elapsedMs: number; log: Log };
    if (elapsedMs < minutes * MINUTE) throw new Error('the first request was sent too late');
    for (const code of await Promise.all(running.map((pod) => pod.stop())))
      if (code !== EXIT_STOPPED) throw new Error(`a pod left with ${code}`);
    return { log, found: measure(log, limits, minutes * MINUTE) };
  } finally {
    await Promise.all(running.map((pod) => pod.kill()));
    server.stop();
    await redis.end();
  }
}

const cpu = watchCpu();
try {
  // No shard finishes, even with the whole quota.
  await writeLeads(join(folder, 'leads.csv'), Math.ceil(pods * limits.rpm * (minutes + 2)));
  const lines: string[] = [];
  for (const [name, kills] of [
    ['all live', false],
    ['one killed and started again', true],
  ] as const) {
    if (kills && values['quiet-only']) continue;
    const { log, found } = await round(kills ? 'killed' : 'quiet', kills);
    lines.push(
      '| ' +
        [
          name,
          found.admitted,
          found.refused,
          found.share === null ? '-' : `${(found.share * 100).toFixed(1)} %`,
          found.mostAdmitted,
          found.mostSent,
        ].join(' | ') +
        ' |',
    );
    const refused = log.flatMap(([, decision], i) => (decision === 'refused' ? [i] : []));
    for (const i of refused.slice(0, 5)) process.stderr.write(`  ${around(log, i)}\n`);
    if (found.refused > 0 || (!kills && (found.share ?? 1) < LEAST_SHARE)) process.exitCode = 1;
  }
  cpu.stop();
  const full = cpu.shares.filter((share) => share > 0.95).length;
  process.stdout.write(
    `${[
      `${pods} shards of one job, each a process, one quota of ${limits.rpm} a minute (${limits.kind}), ${minutes} minutes each; ` +
        `${machine()}; the machine was wholly busy in ${full} of ${cpu.shares.length} seconds`,
      '',
      '| | admitted | 429s | of what there was | most admitted in 60 s | most sent in 60 s |',
      '|---|---:|---:|---:|---:|---:|',
      ...lines,
    ].join('\n')}\n`,
  );
} finally {
  cpu.stop();
  rmSync(folder, { recursive: true });
}
