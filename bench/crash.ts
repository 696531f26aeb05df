/**
 * Kills real runs with SIGKILL at random moments, again and again, and compares what comes out with a run that nobody killed.
 * `node bench/crash.ts [chains] [seed]`; each chain is one job, killed several times. Ends with 1 when anything is amiss.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Folder } from '../test/support/cli.ts';
import { finishingMoments, killThrough, randomMoments, type Moment } from '../test/support/crash-chain.ts';
import { leads, seeded, toCsv, toJsonl, type Lead } from '../test/support/leads.ts';
import { ScriptedService } from '../test/support/scripted-service.ts';
import { machine } from './support/processes.ts';

const chains = Number(process.argv[2] ?? 40);
const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
const KILLS = 10;

interface Shape {
  readonly name: string;
  readonly rows: number;
  readonly files: (rows: readonly Lead[]) => Record<string, string>;
  readonly flags: readonly string[];
  readonly output: string;
}

const split = (rows: readonly Lead[], at: number): readonly (readonly Lead[])[] => [rows.slice(0, at), rows.slice(at)];

const SHAPES: readonly Shape[] = [
  { name: 'csv', rows: 2_000, files: (rows) => ({ 'in.csv': toCsv(rows) }), flags: ['--input', 'in.csv'], output: 'out.csv' },
  { name: 'jsonl', rows: 2_000, files: (rows) => ({ 'in.jsonl': toJsonl(rows) }), flags: ['--input', 'in.jsonl'], output: 'out.jsonl' },
  { name: 'csv.gz', rows: 12_000, files: (rows) => Object.fromEntries(split(rows, 7_000).map((part, i) => [`in-${i}.csv`, toCsv(part)])), flags: ['--input', 'in-*.csv', '--steps', 'enrich'], output: 'out.csv.gz' },
  { name: 'jsonl.zst', rows: 12_000, files: (rows) => Object.fromEntries(split(rows, 3_000).map((part, i) => [`in/${i}.csv`, toCsv(part)])), flags: ['--input', 'in', '--steps', 'enrich'], output: 'out.jsonl.zst' },
];

interface Outcome {
  readonly bytes: Buffer;
  readonly errors: string;
  readonly numbers: string;
}

async function prepare(shape: Shape, rows: readonly Lead[]): Promise<{ folder: Folder; service: ScriptedService; args: string[] }> {
  const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
  for (const [name, text] of Object.entries(shape.files(rows))) {
    await mkdir(dirname(folder.at(name)), { recursive: true });
    await writeFile(folder.at(name), text);
  }
  const args = ['run', ...shape.flags, '--output', shape.output, '--base-url', service.url, '--plan', 'enterprise', '--progress', 'none', '--checkpoint.everyMs', '50', '--max-errors', '100%'];
  return { folder, service, args };
}

async function outcome(folder: Folder, { output }: Shape): Promise<Outcome> {
  const { records, verification, output: file, lookups } = await folder.json(`${output}.report.json`);
  const errors = (await folder.read(`${output}.errors.jsonl`)).replaceAll(/"requestId":(?:null|"[^"]*")/g, '');
  return { bytes: await readFile(folder.at(output)), errors, numbers: JSON.stringify({ records, verification, file, lookups }) };
}

const sum = { kills: 0, resumes: 0, records: 0, repeated: 0, bound: 0, late: 0, paidTwice: 0, otherBytes: 0, otherErrors: 0, otherNumbers: 0 };
let atMost = 0;
const random = seeded(seed);
for (let i = 0; i < chains; i++) {
  const shape = SHAPES[i % SHAPES.length];
  if (shape === undefined) break;
  const rows = leads(shape.rows, seed + i);
  const plain = await prepare(shape, rows);
  const first = await plain.folder.run(plain.args);
  if (first.code !== 0) throw new Error(first.stderr);
  const expected = await outcome(plain.folder, shape);
  await Promise.all([plain.folder.remove(), plain.service.stop()]);

  const { folder, service, args } = await prepare(shape, rows);
  service.latencyMs = 2;
  const moments: Moment[] = [...randomMoments(KILLS, rows.length, random), ...finishingMoments(shape.output).map(({ moment }) => moment)];
  const chain = await killThrough(folder, service, args, shape.output, moments);
  const found = await outcome(folder, shape);
  sum.kills += chain.kills;
  sum.resumes += chain.runs - 1;
  sum.records += rows.length;
  sum.repeated += chain.repeated;
  sum.bound += chain.bound;
  sum.late += chain.late.length;
  sum.paidTwice += chain.paidTwice.length;
  sum.otherBytes += found.bytes.equals(expected.bytes) ? 0 : 1;
  sum.otherErrors += found.errors === expected.errors ? 0 : 1;
  sum.otherNumbers += found.numbers === expected.numbers ? 0 : 1;
  atMost = Math.max(atMost, chain.kills === 0 ? 0 : chain.repeated / chain.kills);
  process.stderr.write(`${shape.name}: ${chain.kills} kills, ${chain.repeated} repeated of ${chain.bound}\n`);
  await Promise.all([folder.remove(), service.stop()]);
}

// The yardstick's own rows are checked to be each record once and in order by test/crash: equal bytes are that, too.
const row = (name: string, value: string | number): string => `| ${name} | ${typeof value === 'number' ? value.toLocaleString('en-US') : value} |`;
process.stdout.write(
  `${[
    `${chains} jobs, seed ${seed}; ${machine()}`,
    '',
    '| | |',
    '|---|---:|',
    row('kills (SIGKILL)', sum.kills),
    row('resumes', sum.resumes),
    row('records', sum.records),
    row('outputs with lost, doubled or misplaced records (other bytes)', sum.otherBytes),
    row('errors files that differ (request ids apart)', sum.otherErrors),
    row('reports that differ in a number', sum.otherNumbers),
    row('lookups asked again / in flight or answered since the last durable ledger write began', `${sum.repeated.toLocaleString('en-US')} / ${sum.bound.toLocaleString('en-US')}`),
    row('lookups asked again a kill, at most', Math.round(atMost)),
    row('answers from before that write which it does not hold', sum.late),
    row('lookups paid twice although they were durable', sum.paidTwice),
  ].join('\n')}\n`,
);
if (sum.late + sum.paidTwice + sum.otherBytes + sum.otherErrors + sum.otherNumbers > 0 || sum.repeated > sum.bound) process.exitCode = 1;
