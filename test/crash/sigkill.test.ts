import { describe, expect, test } from 'vitest';
import { randomMoments } from '../support/crash-chain.ts';
import { leads, seeded, toCsv, toJsonl, type Lead } from '../support/leads.ts';
import { killed, undisturbed, type Job } from './crashed-job.ts';

/** `CRASH_SEED=123` repeats a run. */
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

interface Case {
  readonly name: string;
  readonly rows: number;
  readonly job: (rows: readonly Lead[]) => Job;
  /** What the job asks for, about: kills are spread over it. */
  readonly requests: number;
  readonly kills: number;
}

const half = (rows: readonly Lead[], part: 0 | 1): readonly Lead[] => rows.slice(part * Math.floor(rows.length / 2), part === 0 ? Math.floor(rows.length / 2) : undefined);

/** Few calls at once and many intervals a run, so that what may be asked again is little beside what may not. */
const FEW = '8';

const CASES: readonly Case[] = [
  { name: 'csv to csv', rows: 800, job: (rows) => ({ files: { 'in.csv': toCsv(rows) }, flags: { input: 'in.csv', concurrency: FEW }, output: 'out.csv' }), requests: 650, kills: 4 },
  {
    name: 'two jsonl files to jsonl.zst, verify alone',
    rows: 6_000,
    job: (rows) => ({ files: { 'in/a.jsonl': toJsonl(half(rows, 0)), 'in/b.jsonl': toJsonl(half(rows, 1)) }, flags: { input: 'in', steps: 'verify' }, output: 'out.jsonl.zst' }),
    requests: 6,
    kills: 4,
  },
  {
    name: 'a glob of csv files to csv.gz, enrich alone',
    rows: 3_000,
    job: (rows) => ({ files: { 'in-1.csv': toCsv(half(rows, 0)), 'in-2.csv': toCsv(half(rows, 1)) }, flags: { input: 'in-*.csv', steps: 'enrich' }, output: 'out.csv.gz' }),
    requests: 2_400,
    kills: 4,
  },
  { name: 'csv to jsonl', rows: 500, job: (rows) => ({ files: { 'in.csv': toCsv(rows) }, flags: { input: 'in.csv', concurrency: FEW }, output: 'out.jsonl' }), requests: 400, kills: 3 },
];

describe(`killed at random moments (CRASH_SEED=${SEED})`, () => {
  test.each(CASES)('$name: the same bytes and requests, and nothing durable is asked for again', async ({ rows: count, job: make, requests, kills }) => {
    const rows = leads(count, SEED % 1_000);
    const job = make(rows);
    const chain = await killed(job, await undisturbed(job, rows), randomMoments(kills, requests, seeded(SEED + count)), 3);
    expect(chain.kills).toBeGreaterThan(0);
  });
});
