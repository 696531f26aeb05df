/** `report.json` of real runs: each obeys docs/report.schema.json, and tells the history of its job. */
import { rm, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Report } from '../../src/job/report/report.ts';
import type { Folder } from '../support/cli.ts';
import { leads, toCsv } from '../support/leads.ts';
import { reportInStatus, schemaFaults } from '../support/report-schema.ts';
import { makeWorld } from '../support/world.ts';
import { LENIENT } from './job-states.ts';

const ROWS = leads(160, 11);

/** The report of a run, which obeys the schema. */
async function reportOf(folder: Folder, output = 'out.csv'): Promise<Report> {
  const report = (await folder.json(`${output}.report.json`)) as unknown as Report;
  expect(schemaFaults(report)).toEqual([]);
  return report;
}

async function statusOf(folder: Folder, args: readonly string[]): Promise<Report> {
  const { stdout } = await folder.run(['status', ...args.slice(1), '--json']);
  const report = reportInStatus(stdout);
  expect(schemaFaults({ ...report, startedAt: report['startedAt'] ?? '2026-01-01T00:00:00Z' })).toEqual([]);
  return report as unknown as Report;
}

test('the report of a complete run names its service, version, command, steps, rates and files', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  await statusOf(folder, args(LENIENT));
  expect(await folder.run(args({ ...LENIENT, 'service.creditPrice': '0.5 EUR', 'output.split': 'verdict' }))).toMatchObject({ code: 0 });
  const report = await reportOf(folder);
  const { records, verification, files } = report;
  expect(report).toMatchObject({
    command: expect.stringMatching(/^millrace run --input in\.csv --output out\.csv .*--output\.split verdict$/),
    service: { url: service.url, embedded: false, plan: 'enterprise' },
    steps: ['enrich', 'verify'],
    cost: { amount: report.credits / 2, currency: 'EUR' },
    previous: null,
  });
  expect(report.matchRate).toBeCloseTo(records.matched / (records.matched + records.no_match), 4);
  const verdicts = Object.values(verification).reduce((sum, n) => sum + n, 0);
  expect(report.deliverableRate).toBeCloseTo((verification['deliverable'] ?? 0) / verdicts, 4);
  const named = [files?.output, files?.report, files?.page, files?.errors, files?.checkpoint, ...(files?.verdicts ?? [])];
  expect(await folder.files()).toEqual(expect.arrayContaining(named));
  expect(files?.verdicts.length).toBeGreaterThan(0);
  const charted = report.timeline.slots.reduce((sum, { requests }) => sum + requests, 0);
  expect(charted).toBe(Object.values(report.calls).reduce((sum, n) => sum + n, 0));
});

test('the reports of verify alone, of skipped records and of an empty input obey the schema', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS));
  const some = { ...LENIENT, output: 'some.csv', 'input.where.Note': 'empty' };
  expect(await folder.run(args(some))).toMatchObject({ code: 0 });
  expect((await reportOf(folder, 'some.csv')).records.skipped).toBeGreaterThan(0);
  expect((await folder.run(args({ ...LENIENT, steps: 'verify' }))).code).toBe(0);
  expect((await reportOf(folder)).steps).toEqual(['verify']);
  await writeFile(folder.at('in.csv'), 'Name,Work Email\n');
  expect((await folder.run(args({ ...LENIENT, steps: 'verify' }))).code).toBe(0);
  expect(await reportOf(folder)).toMatchObject({ recordsPerSecond: null, matchRate: null, deliverableRate: null });
});

test('the report of a job that was stopped, killed, resumed and retried tells each run and its end', async () => {
  const { folder, service, args } = await makeWorld(toCsv(ROWS));
  service.latencyMs = 5;
  const slow = args({ ...LENIENT, concurrency: '4' });
  const stopped = folder.start(slow);
  await service.sees(30);
  stopped.kill('SIGTERM');
  await stopped.ended;
  expect((await statusOf(folder, args(LENIENT))).runs.list).toMatchObject([{ end: 'stopped', code: 'signalled' }]);
  const killed = folder.start(slow);
  await service.sees(20);
  killed.kill('SIGKILL');
  await killed.ended;
  service.latencyMs = 0;
  expect((await folder.run(args(LENIENT))).code).toBe(0);
  expect((await folder.run(['retry', ...args(LENIENT).slice(1)])).code).toBe(0);
  const { runs, startedAt, finishedAt, version } = await reportOf(folder);
  expect(runs).toMatchObject({ count: 4, killed: 1 });
  expect(runs.list.map(({ end, code }) => [end, code])).toEqual([
    ['stopped', 'signalled'],
    ['killed', null],
    ['finished', null],
    ['finished', null],
  ]);
  expect(runs.list.map(({ command }) => command.split(' ')[1])).toEqual(['run', 'run', 'run', 'retry']);
  expect(new Set(runs.list.map((run) => run.version))).toEqual(new Set([version]));
  const times = runs.list.flatMap((run) => [run.startedAt, run.endedAt ?? '']);
  expect(times).toEqual(times.toSorted());
  expect(Date.parse(runs.list[0]?.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(startedAt));
  expect(Date.parse(times.at(-1) ?? '')).toBeLessThanOrEqual(Date.parse(finishedAt ?? ''));
});

test('the report has the lookups that were slow or repeated, by file and line and without their keys', async () => {
  const emails = Array.from({ length: 60 }, (_, i) => `p${i}@works.example`);
  const { folder, service, args } = await makeWorld(`email\n${emails.map((email) => `${email}\n`).join('')}`);
  const failures = new Map<string, number>();
  service.script = (asked, _response, reply, usual) => {
    const [key = ''] = asked.keys;
    const failed = failures.get(key) ?? 0;
    failures.set(key, failed + 1);
    if (key === 'p7@works.example' && failed < 2) reply({ status: 500, body: '{}' });
    else if (key === 'p20@works.example') setTimeout(() => reply(usual()), 400);
    else reply(usual());
  };
  expect(await folder.run(args({ steps: 'enrich' }))).toMatchObject({ code: 0 });
  const { slowest, mostRetried } = await reportOf(folder);
  expect(mostRetried).toMatchObject([{ file: 'in.csv', line: 9, step: 'enrich', keys: 1, sent: 3, code: null }]);
  expect(slowest).toHaveLength(20);
  expect(slowest[0]).toMatchObject({ file: 'in.csv', line: 22, step: 'enrich', sent: 1 });
  expect(slowest[0]?.latencyMs).toBeGreaterThan(300);
  expect(await folder.read('out.csv.report.json')).not.toContain('works.example');
});

test('a slow verify request is listed by the line of its first address', async () => {
  const { folder, service, args } = await makeWorld('email\n\na@works.example\nb@works.example\n');
  service.latencyMs = 50;
  expect((await folder.run(args({ ...LENIENT, steps: 'verify' }))).code).toBe(0);
  expect((await reportOf(folder)).slowest).toMatchObject([{ step: 'verify', line: 3, keys: 2 }]);
});

test('a run is compared with the last one at the same name, also after a retry and a crash between the two', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 40)));
  expect((await folder.run(args(LENIENT))).code).toBe(0);
  const first = await reportOf(folder);
  await writeFile(folder.at('in.csv'), toCsv(ROWS.slice(0, 60)));
  expect((await folder.run(args(LENIENT))).code).toBe(0);
  const second = await reportOf(folder);
  const { startedAt, finishedAt, exitCode, records, verification, credits, matchRate, deliverableRate, recordsPerSecond, people } = first;
  const rates = { recordsPerSecond, matchRate, deliverableRate, people };
  const previous = { startedAt, finishedAt, exitCode, records, verification, credits, ...rates };
  expect(second.previous).toEqual(previous);
  expect(second.records.total).toBe(60);
  await folder.run(['retry', ...args(LENIENT).slice(1)]);
  expect((await reportOf(folder)).previous).toEqual(previous);
  // The output is written again from the ledger: the same run.
  await rm(folder.at('out.csv'));
  expect((await folder.run(args(LENIENT))).code).toBe(0);
  expect((await reportOf(folder)).previous).toEqual(previous);
});

test('a dated run is compared with the last night that has a report', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 30)));
  const night = (date: string): string[] => args({ ...LENIENT, name: 'nightly', output: 'out-{date}.csv', date });
  expect((await folder.run(night('2026-01-02'))).code).toBe(0);
  expect((await folder.run(night('2026-01-05'))).code).toBe(0);
  const { startedAt } = await reportOf(folder, 'out-2026-01-02.csv');
  expect((await reportOf(folder, 'out-2026-01-05.csv')).previous).toMatchObject({ startedAt });
  // A file of something else is no earlier run, and no reason to stop.
  await writeFile(folder.at('out-2026-01-05.csv.report.json'), '{"startedAt": 1}');
  expect((await folder.run(night('2026-01-06'))).code).toBe(0);
  expect((await reportOf(folder, 'out-2026-01-06.csv')).previous).toMatchObject({ startedAt });
});

test('the report of joined shards has the runs of all shards', async () => {
  const { folder, args } = await makeWorld(toCsv(ROWS.slice(0, 40)));
  for (const shard of ['0/2', '1/2']) expect((await folder.run(args({ ...LENIENT, shard }))).code).toBe(0);
  const { runs } = await reportOf(folder);
  expect(runs.list.map(({ shard, end }) => [shard, end])).toEqual([
    ['0/2', 'finished'],
    ['1/2', 'finished'],
  ]);
});

test('rows of one person share lookups, which the report counts, also over a resume', async () => {
  const { folder, service, args } = await makeWorld('email\na@works.example\nb@works.example\nA@works.example\na@works.example\n');
  expect(await folder.run(args({ limit: '3' }))).toMatchObject({ code: 0 });
  expect((await reportOf(folder)).duplicateLookups).toBe(2);
  expect(await folder.run(args({ limit: '4' }))).toMatchObject({ code: 0 });
  const { lookups, duplicateLookups } = await reportOf(folder);
  expect([lookups.unique, duplicateLookups]).toEqual([4, 4]);
  expect(service.requests.filter(({ path }) => path === 'enrich')).toHaveLength(2);
});
