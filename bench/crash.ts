/**
 * Ends real runs at random moments and right before random steps that change the disk, again and again, and compares
 * what comes out with a run that nobody ended. Every format in and out, several files, duplicates over files, and a
 * service that fails. `node bench/crash.ts [rounds] [seed]`; a round is about 140 kills. Ends with 1 when anything is amiss.
 * With `--s3` the jobs lie in S3, on a real server, and are killed around requests that change something there.
 */
import { parseArgs } from 'node:util';
import { Folder } from '../test/support/cli.ts';
import { finishingMoments, killThrough, randomMoments, type Chain, type Moment } from '../test/support/crash-chain.ts';
import { argsOf, fail, namesIn, resultOf, SHAPES, writeInput, type Job, type Shape } from '../test/support/crash-jobs.ts';
import { leads, seeded, type Lead } from '../test/support/leads.ts';
import { ScriptedService } from '../test/support/scripted-service.ts';
import { machine } from './support/processes.ts';
import { crashInS3 } from './support/s3-crashes.ts';

const { values, positionals } = parseArgs({ options: { s3: { type: 'boolean', default: false } }, allowPositionals: true });
const rounds = Number(positionals[0] ?? 3);
const seed = Number(positionals[1] ?? Date.now() % 1_000_000);
const KILLS = 8;
const random = seeded(seed);

/** One row of the table. */
const NOTHING = {
  kills: 0,
  stops: 0,
  resumes: 0,
  records: 0,
  lost: 0,
  doubled: 0,
  misplaced: 0,
  otherBytes: 0,
  otherErrors: 0,
  otherNumbers: 0,
  repeated: 0,
  bound: 0,
  late: 0,
  paidTwice: 0,
  otherKeys: 0,
};
type Row = { -readonly [K in keyof typeof NOTHING]: number };

interface Outcome {
  readonly result: Awaited<ReturnType<typeof resultOf>>;
  readonly names: readonly string[];
  readonly chain: Chain;
  readonly otherKeys: number;
}

async function outcome(job: Job, moments: readonly Moment[], faults: boolean): Promise<Outcome> {
  const [folder, service] = await Promise.all([Folder.make(), ScriptedService.start()]);
  try {
    await writeInput(job, folder);
    service.latencyMs = 2;
    if (faults) fail(service);
    const chain = await killThrough(folder, service, argsOf(job, service), job.output, moments);
    return {
      result: await resultOf(folder, job),
      names: await namesIn(folder, job),
      chain,
      otherKeys: [...service.idempotencyKeys.values()].filter(({ size }) => size > 1).length,
    };
  } finally {
    await Promise.all([folder.remove(), service.stop()]);
  }
}

/** Random kills, then three gentler ends, then a kill between any two steps of finishing. */
function momentsOf(rows: readonly Lead[], { output, flags }: Job): Moment[] {
  const requests = flags['steps'] === 'verify' ? rows.length / 1_000 : rows.length;
  const early = (): Moment => ({ kind: 'requests', more: Math.floor((random() * requests) / 20) });
  return [
    ...randomMoments(KILLS, requests, random),
    { ...early(), signals: ['SIGTERM'] },
    { ...early(), signals: ['SIGINT', 'SIGTERM'], betweenMs: 1 },
    { ...early(), signals: ['SIGTERM', 'SIGKILL'], betweenMs: 1 },
    ...finishingMoments(output).map(({ moment }) => moment),
  ];
}

async function measure({ job: make, rows: { long }, faults }: Shape, row: Row, round: number): Promise<void> {
  const rows = leads(long, seed + round);
  const job = make(rows);
  const expected = (await outcome(job, [], false)).result;
  const { result, names, chain, otherKeys } = await outcome(job, momentsOf(rows, job), faults);
  const wanted = rows.map(({ cells }) => cells[0] ?? '');
  const found = new Set(names);
  row.kills += chain.kills;
  row.stops += chain.stops;
  row.resumes += chain.runs - 1;
  row.records += wanted.length;
  row.lost += wanted.filter((name) => !found.has(name)).length;
  row.doubled += names.length - found.size;
  row.misplaced += names.filter((name, i) => name !== wanted[i]).length;
  row.otherBytes += result.bytes === expected.bytes ? 0 : 1;
  row.otherErrors += JSON.stringify(result.errors) === JSON.stringify(expected.errors) ? 0 : 1;
  row.otherNumbers += JSON.stringify(result.numbers) === JSON.stringify(expected.numbers) ? 0 : 1;
  row.repeated += chain.repeated;
  row.bound += chain.bound;
  row.late += chain.late.length;
  row.paidTwice += chain.paidTwice.length;
  row.otherKeys += otherKeys;
}

const COLUMNS: readonly (readonly [string, (row: Row) => string | number])[] = [
  ['kills', (row) => row.kills],
  ['ended by a signal', (row) => row.stops],
  ['resumes', (row) => row.resumes],
  ['records', (row) => row.records],
  ['lost', (row) => row.lost],
  ['doubled', (row) => row.doubled],
  ['misplaced', (row) => row.misplaced],
  ['outputs, errors files, reports that differ', (row) => [row.otherBytes, row.otherErrors, row.otherNumbers].join(', ')],
  ['lookups asked again', (row) => row.repeated],
  ['at most', (row) => row.bound],
  ['not kept in time', (row) => row.late],
  ['durable or settled, and asked again', (row) => row.paidTwice],
  ['asked again with another key', (row) => row.otherKeys],
];

const holds = (row: Row): boolean =>
  row.lost +
    row.doubled +
    row.misplaced +
    row.otherBytes +
    row.otherErrors +
    row.otherNumbers +
    row.late +
    row.paidTwice +
    row.otherKeys ===
    0 && row.repeated <= row.bound;
const line = (name: string, row: Row): string => `| ${[name, ...COLUMNS.map(([, of]) => of(row).toLocaleString('en-US'))].join(' | ')} |\n`;

async function onDisk(): Promise<void> {
  process.stdout.write(
    `rounds: ${rounds}, seed ${seed}; ${machine()}\n\n| job | ${COLUMNS.map(([name]) => name).join(' | ')} |\n` +
      `|---|${'---:|'.repeat(COLUMNS.length)}\n`,
  );
  const total: Row = { ...NOTHING };
  for (const shape of SHAPES) {
    const row: Row = { ...NOTHING };
    for (let round = 0; round < rounds; round++) await measure(shape, row, round);
    process.stdout.write(line(shape.name, row));
    for (const key of Object.keys(NOTHING) as (keyof Row)[]) total[key] += row[key];
    if (!holds(row)) process.exitCode = 1;
  }
  process.stdout.write(line('all', total));
}

if (values.s3) await crashInS3(rounds, seed);
else await onDisk();
