/**
 * A vendor that takes 100 contacts a request and answers a minute later, in real time: the shipped definition of FullEnrich against its
 * stand-in, which permits 60 requests a minute, that is 6,000 contacts. `npm run build`, then
 * `npx node bench/late-batches.ts [minutes] [seconds until an answer]`.
 * Ends with 1 when Millrace hears a 429, pays for a contact twice, or submits less than 95 % of the permitted contacts.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as after } from 'node:timers/promises';
import { startFullEnrich } from '../test/providers/stand-ins/fullenrich.ts';
import { personOf } from '../test/providers/stand-ins/world.ts';
import { machine, peakMiB, runUntilStopped } from './support/processes.ts';

const minutes = Number(process.argv[2] ?? 3);
const answerMs = Number(process.argv[3] ?? 60) * 1_000;
const MINUTE = 60_000;
const REQUESTS = 60;
const SIZE = 100;
const LEAST_SHARE = 0.95;
const EXIT_STOPPED = 75;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'));
const submitted: number[] = [];
const contacts = new Map<string, number>();
// Polls are counted apart: with one account for both, polls would take half of the permitted requests.
const vendor = await startFullEnrich({
  apiKey: 'bench',
  takesMs: answerMs,
  hasLog: false,
  windows: (route) => (route === 'all' ? [{ name: 'minute', limit: REQUESTS }] : []),
});
vendor.hook = ({ method, body }, usual) => {
  const reply = usual();
  if (method === 'POST' && reply.status === 200) {
    submitted.push(performance.now());
    for (const { linkedin_url: key } of (body as { data: { linkedin_url: string }[] }).data)
      contacts.set(key, (contacts.get(key) ?? 0) + 1);
  }
  return reply;
};
try {
  const people = SIZE * REQUESTS * (minutes + 3);
  writeFileSync(
    join(folder, 'people.csv'),
    `linkedin_url\n${Array.from({ length: people }, (_, i) => personOf(i).linkedinUrl).join('\n')}\n`,
  );
  const poll = { quota: { plans: { standard: [] } } };
  writeFileSync(join(folder, 'apart.yaml'), JSON.stringify({ use: 'fullenrich', operations: { enrich: { batch: { poll } } } }));
  const job = {
    input: { uri: 'people.csv' },
    output: { uri: 'out.csv' },
    providers: { fullenrich: { use: './apart.yaml', baseUrl: `${vendor.url}/api/v2` } },
    steps: [{ enrich: { from: ['fullenrich'] } }],
  };
  writeFileSync(join(folder, 'job.yaml'), JSON.stringify(job));
  const command = [
    process.execPath,
    join(import.meta.dirname, '../dist/cli/millrace.js'),
    'run',
    join(folder, 'job.yaml'),
    '--progress',
    'none',
  ];
  const running = runUntilStopped(command, { MILLRACE_FULLENRICH_API_KEY: 'bench' }, folder);
  const startedAt = performance.now();
  await after((minutes + 1) * MINUTE);
  const memory = `${Math.round(peakMiB(running.pid))} MiB`;
  const code = await running.stop();
  const first = submitted[0] ?? startedAt;
  const measured = submitted.filter((at) => at >= first + MINUTE && at < first + (minutes + 1) * MINUTE).length;
  const share = measured / (REQUESTS * minutes);
  const twice = [...contacts.values()].filter((times) => times > 1).length;
  say(`${minutes} minutes from the second on, answers after ${answerMs / 1_000} s; ${machine()}\n`);
  say('| contacts submitted a minute | share of the permitted | 429s | contacts submitted twice | peak memory |');
  say('|---:|---:|---:|---:|---:|');
  const perMinute = Math.round((measured * SIZE) / minutes).toLocaleString('en-US');
  say(`| ${perMinute} | ${(share * 100).toFixed(1)} % | ${vendor.counts.refused429} | ${twice} | ${memory} |`);
  if (code !== EXIT_STOPPED || vendor.counts.refused429 > 0 || twice > 0 || share < LEAST_SHARE) process.exitCode = 1;
} finally {
  await vendor.close();
  rmSync(folder, { recursive: true, force: true });
}
