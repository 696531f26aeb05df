import { mkdir, mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../../support/fast-check.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Counters } from '../../../src/job/run/counters.ts';
import { buildReport, writeReports } from '../../../src/job/report/report.ts';
import { ALONE } from '../../support/fence.ts';
import type { RecordResult } from '../../../src/processor/result.ts';
import { Tallying } from '../../../src/writer/tally.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { REPORT_SCHEMA, schemaFaults } from '../../support/report-schema.ts';
import { reportedJob } from '../../support/reported-job.ts';

const outcome = fc.constantFrom('matched', 'no_match', 'invalid', 'suppressed', 'failed');
const verdict = fc.option(fc.constantFrom('deliverable', 'risky', 'unknown', 'constructor'));
const rows = fc.array(fc.tuple(outcome, verdict), { maxLength: 60 });

const row = ([result, said]: readonly [RecordResult['outcome'], string | null]): RecordResult => ({
  outcome: result,
  error: null,
  answers: said === null ? {} : { verify: { text: '', record: { email: '', result: said, confidence: null, reason: null } } },
  failure: null,
});

describe('the report', () => {
  it('has outcomes that sum to the total, and verdicts that sum to the verified rows, over any resumes', () => {
    fc.assert(
      fc.property(fc.array(rows, { maxLength: 4 }), fc.boolean(), (runs, finished) => {
        let tally = CHECKPOINT.mark.tally;
        for (const run of runs) {
          const tallying = new Tallying(JSON.parse(JSON.stringify(tally)) as typeof tally);
          for (const one of run) tallying.add(row(one));
          tally = tallying.snapshot();
        }
        const checkpoint = finished
          ? { ...CHECKPOINT, result: { tally, bytes: 9, errorBytes: 1, sha256: 'abc', errorsSha256: 'def' } }
          : { ...CHECKPOINT, mark: { ...CHECKPOINT.mark, bytes: 9, tally } };
        const report = buildReport(checkpoint, reportedJob());
        const { total, ...outcomes } = report.records;
        expect(total).toBe(runs.flat().length);
        expect(Object.values(outcomes).reduce((sum, n) => sum + n, 0)).toBe(total);
        for (const [name, n] of Object.entries(outcomes)) expect(n).toBe(runs.flat().filter(([is]) => is === name).length);
        expect(Object.values(report.verification).reduce((sum, n) => sum + n, 0)).toBe(
          runs.flat().filter(([is, said]) => is !== 'failed' && said !== null).length,
        );
        expect(report.output).toEqual({ uri: 'out.csv', rows: total, bytes: 9, sha256: finished ? 'abc' : null });
      }),
    );
  });

  it('has exactly the keys of the contract, in its order', () => {
    const report = buildReport(CHECKPOINT, reportedJob(), 1_000);
    expect(Object.keys(report)).toEqual([
      'job',
      'startedAt',
      'finishedAt',
      'exitCode',
      'records',
      'verification',
      'calls',
      'lookups',
      'retries',
      'throttled',
      'waits',
      'credits',
      'quota',
      'latencyMs',
      'output',
      'activeMs',
      'errors',
      'version',
      'command',
      'service',
      'steps',
      'recordsPerSecond',
      'matchRate',
      'deliverableRate',
      'previous',
      'runs',
      'timeline',
      'slowest',
      'mostRetried',
      'files',
      'duplicateLookups',
    ]);
    expect(Object.keys(REPORT_SCHEMA.properties).filter((key) => key in report)).toEqual(Object.keys(report));
    expect(schemaFaults(report)).toEqual([]);
    expect(Object.keys(report.records)).toEqual(['total', 'matched', 'no_match', 'invalid', 'suppressed', 'failed']);
    expect([report.lookups, report.throttled, report.quota, report.latencyMs, report.output].map((part) => Object.keys(part))).toEqual([
      ['unique', 'fromLedger'],
      ['events', 'waitedMs'],
      ['rpm', 'usedShare', 'goesOnAt'],
      ['p50', 'p95', 'p99'],
      ['uri', 'rows', 'bytes', 'sha256'],
    ]);
  });

  it('has the final size of verify requests only when some were too large for the service', () => {
    const reportOf = (tooLarge: number): ReturnType<typeof buildReport> =>
      buildReport(
        { ...CHECKPOINT, totals: { ...CHECKPOINT.totals, verifyRequests: { size: 500, most: null, tooLarge } } },
        reportedJob(),
        null,
      );
    expect(reportOf(3).verifyRequests).toEqual({ addresses: 500, tooLarge: 3 });
    expect(reportOf(0)).not.toHaveProperty('verifyRequests');
  });

  it('says when an unfinished job can continue: when the last used-up quota window opens', () => {
    const windows = [
      { periodMs: 1_000, limit: 3, left: null, resetAtMs: null, spent: [], opensAtMs: 5_000 },
      { periodMs: 9_000, limit: 3, left: 0, resetAtMs: 9_000, spent: [] },
      { periodMs: 9_000, limit: 3, left: null, resetAtMs: null, spent: [], opensAtMs: 7_000 },
    ];
    const checkpoint = { ...CHECKPOINT, state: 'running' as const, spent: { minute: [], savedAtMs: 1_000, windows } };
    expect(buildReport(checkpoint, reportedJob()).quota.goesOnAt).toBe(new Date(7_000).toISOString());
    expect(buildReport({ ...checkpoint, state: 'finished' }, reportedJob()).quota.goesOnAt).toBeNull();
  });

  it('has the quota share: calls made divided by calls allowed while the job ran, over all resumes', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.array(fc.record({ calls: fc.nat({ max: 500 }), ms: fc.integer({ min: 1_000, max: 600_000 }) }), { minLength: 1, maxLength: 4 }),
        (rpm, runs) => {
          let totals = CHECKPOINT.totals;
          let now = 0;
          for (const { calls, ms } of runs) {
            const counters: Counters = new Counters(totals, () => now);
            for (let i = 0; i < calls; i++) counters.sent({ step: i % 2 === 0 ? 'enrich' : 'verify', keys: 1 });
            now += ms;
            totals = counters.totals({ lookups: 0, reused: 0 });
          }
          const all = {
            calls: runs.reduce((sum, run) => sum + run.calls, 0),
            minutes: runs.reduce((sum, run) => sum + run.ms, 0) / 60_000,
          };
          expect(buildReport({ ...CHECKPOINT, totals }, reportedJob(), rpm).quota.usedShare).toBeCloseTo(
            Math.min(1, all.calls / (rpm * all.minutes)),
            2,
          );
          expect(buildReport({ ...CHECKPOINT, totals }, reportedJob()).quota).toEqual({ rpm: null, usedShare: null, goesOnAt: null });
        },
      ),
    );
  });

  it('counts a full quota at the start as offered, so a drained quota and an idle minute are not full use', () => {
    const totals = { ...CHECKPOINT.totals, calls: { enrich: 1_562 }, activeMs: 96_000, beyondPlan: 1_000 };
    expect(buildReport({ ...CHECKPOINT, totals }, reportedJob(), 1_000).quota.usedShare).toBe(0.601);
    expect(buildReport({ ...CHECKPOINT, totals: { ...totals, activeMs: 36_000 } }, reportedJob(), 1_000).quota.usedShare).toBe(0.976);
  });

  it('has no quota share after less than a second, and no latencies without an answer', () => {
    const totals = { ...CHECKPOINT.totals, calls: { enrich: 10 }, activeMs: 999 };
    expect(buildReport({ ...CHECKPOINT, totals }, reportedJob(), 60)).toMatchObject({
      quota: { rpm: 60, usedShare: null },
      latencyMs: { p50: null, p95: null, p99: null },
    });
  });
});

describe('the files of the report', () => {
  const report = buildReport(CHECKPOINT, reportedJob());
  let folder: string;
  let paths: { report: string; reportPage: string };
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'report-'));
    paths = { report: join(folder, 'r.json'), reportPage: join(folder, 'r.html') };
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('include the report and its page, readable by their owner alone', async () => {
    await writeReports(paths, report, '<!doctype html>', ALONE);
    expect(JSON.parse(await readFile(paths.report, 'utf8'))).toEqual(report);
    expect(await readFile(paths.reportPage, 'utf8')).toBe('<!doctype html>');
    for (const path of Object.values(paths)) expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each(['r.json', 'r.html'])('a disk that refuses %s: 74, naming it', async (name) => {
    await mkdir(join(folder, name, 'in the way'), { recursive: true });
    await expect(writeReports(paths, report, '', ALONE)).rejects.toMatchObject({
      exitCode: 74,
      code: 'report_failed',
      message: expect.stringContaining(name),
    });
  });
});
