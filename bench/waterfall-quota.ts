/**
 * How the quotas of three providers are kept to and used at once, in real time: a waterfall over three vendors with three kinds of limiter,
 * each with a window of a second and one of a minute. Each vendor gets a little less than the one before, so that none waits for another.
 * `node bench/waterfall-quota.ts [--minutes 2] [--tightest minute|second]`
 * Ends with 1 when Millrace hears a 429, or uses less than 99 % of the tightest window of a vendor.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { MINUTE } from '../test/limiter/services.ts';
import { writeLeads } from './support/leads.ts';
import { cpuSeconds, machine, runUntilStopped, startServer, watchCpu } from './support/processes.ts';
import { measureWindow, type VendorLog, type WindowedVendor } from './support/windowed-log.ts';

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '2' }, tightest: { type: 'string', default: 'minute' } } });
const minutes = Number(values.minutes);
const isBySecond = values.tightest === 'second';
const here = import.meta.dirname;
const EXIT_STOPPED = 75;
const LEAST_SHARE = 0.99;
const SECOND = 1_000;

const windows = (second: number, minute: number): WindowedVendor['windows'] => [
  { name: 'second', limit: second, periodMs: SECOND },
  { name: 'minute', limit: minute, periodMs: MINUTE },
];
const VENDORS: Readonly<Record<string, WindowedVendor>> = {
  fixed: { kind: 'fixed', windows: isBySecond ? windows(20, 5_000) : windows(50, 1_200), hasHeaders: true, knows: false, seed: 1 },
  sliding: { kind: 'sliding', windows: isBySecond ? windows(18, 5_000) : windows(50, 1_100), hasHeaders: false, knows: false, seed: 2 },
  bucket: { kind: 'bucket', windows: isBySecond ? windows(16, 5_000) : windows(50, 1_000), hasHeaders: true, knows: true, seed: 3 },
};
const tightest = isBySecond ? 0 : 1;

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const servers = new Map<string, Awaited<ReturnType<typeof startServer>>>();
const cpu = watchCpu();
try {
  // Every vendor but the last knows nobody, so that each record asks all. A full bucket admits a window more.
  await writeLeads(join(folder, 'leads.csv'), 1_500 * (minutes + 2));
  for (const [name, vendor] of Object.entries(VENDORS))
    servers.set(name, await startServer(join(here, 'support/windowed-vendor.ts'), [JSON.stringify(vendor)]));
  const job = {
    input: { uri: 'leads.csv' },
    output: { uri: 'out.csv' },
    providers: Object.fromEntries(
      Object.entries(VENDORS).map(([name, vendor]) => [
        name,
        {
          use: join(here, 'support/vendor.yaml'),
          baseUrl: servers.get(name)?.url,
          windows: vendor.windows.map(({ limit, name: period }) => `${limit}/${period}`),
        },
      ]),
    ),
    steps: [{ enrich: { from: Object.keys(VENDORS) } }],
    limits: { trustMisses: true },
  };
  writeFileSync(join(folder, 'job.yaml'), JSON.stringify(job));
  const environment = Object.fromEntries(Object.keys(VENDORS).map((name) => [`MILLRACE_${name.toUpperCase()}_API_KEY`, 'bench']));
  const command = [process.execPath, join(here, '../dist/cli/millrace.js'), 'run', join(folder, 'job.yaml'), '--progress', 'none'];
  const running = runUntilStopped(command, environment, folder);
  const lines: string[] = [];
  let kept = true;
  let ourCpuSeconds = 0;
  try {
    // The minutes of each vendor begin with its first request.
    for (const { url } of servers.values()) {
      for (let leftMs = minutes * MINUTE; leftMs > 0; leftMs = minutes * MINUTE - (await logOf(url)).elapsedMs)
        await after(Math.min(leftMs, 5_000));
    }
    for (const [name, vendor] of Object.entries(VENDORS)) {
      const server = servers.get(name);
      if (server === undefined) throw new Error(`${name} did not start`);
      const { log } = await logOf(server.url);
      ourCpuSeconds += cpuSeconds(server.pid);
      const { share, admitted } = measureWindow(log, vendor, tightest, minutes * MINUTE);
      const refused = log.filter(([, full]) => full !== null).length;
      kept &&= refused === 0 && (share ?? 1) >= LEAST_SHARE;
      const stated = vendor.windows.map(({ limit, name: period }) => `${limit}/${period}`).join(', ');
      const percent = share === null ? '-' : `${(share * 100).toFixed(1)} %`;
      lines.push(`| ${vendor.kind} | ${stated} | ${vendor.hasHeaders ? 'yes' : 'no'} | ${admitted} | ${refused} | ${percent} |`);
    }
    ourCpuSeconds += cpuSeconds(running.pid);
    const code = await running.stop();
    if (code !== EXIT_STOPPED) throw new Error(`millrace left with ${code}`);
  } finally {
    await running.kill();
  }
  cpu.stop();
  const busy = cpu.shares.reduce((sum, share) => sum + share, 0) / cpu.shares.length;
  process.stdout.write(
    `${[
      `${minutes} minutes, three vendors at once, the window of a ${isBySecond ? 'second' : 'minute'} the tightest; ${machine()}`,
      '',
      '| limiter | windows | headers | admitted | 429s | of the tightest window |',
      '|---|---|---|---:|---:|---:|',
      ...lines,
      '',
      `CPU: these processes took ${((ourCpuSeconds / availableParallelism() / cpu.shares.length) * 100).toFixed(1)} % of the cores; the ` +
        `machine was busy for ${(busy * 100).toFixed(1)} %`,
    ].join('\n')}\n`,
  );
  if (!kept) process.exitCode = 1;
} finally {
  cpu.stop();
  for (const server of servers.values()) server.stop();
  rmSync(folder, { recursive: true });
}

async function logOf(url: string): Promise<{ readonly elapsedMs: number; readonly log: VendorLog }> {
  return (await (await fetch(`${url}/__log`)).json()) as { elapsedMs: number; log: VendorLog };
}
