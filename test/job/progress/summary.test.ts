import { describe, expect, it } from 'vitest';
import { buildReport, type Report } from '../../../src/job/report/report.ts';
import { summaryTable } from '../../../src/job/progress/summary.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { reportedJob } from '../../support/reported-job.ts';

const EMPTY = buildReport(CHECKPOINT, reportedJob());
const PATHS = { output: '/data/out.csv', report: '/data/out.csv.report.json', errors: '/data/out.csv.errors.jsonl' };
const FULL: Report = {
  ...EMPTY,
  records: { total: 12_345, matched: 10_000, no_match: 2_000, invalid: 300, suppressed: 0, failed: 45 },
  people: { matched: 10_000, no_match: 2_000, matchRate: 0.8333 },
  verification: { deliverable: 9_000, undeliverable: 1_000 },
  calls: { enrich: 11_000, verify: 10 },
  lookups: { unique: 11_500, fromLedger: 490 },
  duplicateLookups: 1_234,
  retries: 12,
  throttled: { events: 3, waitedMs: 61_400 },
  credits: 9_999,
  activeMs: 200_000,
  recordsPerSecond: 61.7,
  errors: { 'enrich:http_500': 40, 'verify:timeout': 5, 'input:bad_row': 300 },
  latencyMs: { p50: 20.5, p95: 80, p99: 120 },
};

describe('the summary', () => {
  it('shows every figure, in columns', () => {
    expect(summaryTable(FULL, PATHS)).toBe(`
records              12,345  the shares are of these
  matched            10,000  81.0 %
  no_match            2,000  16.2 %
  invalid               300  2.4 %
  suppressed              0  0.0 %
  failed                 45  0.4 %
  deliverable         9,000  72.9 %
  undeliverable       1,000  8.1 %
match rate           83.3 %  of the people that were answered
deliverable          90.0 %  of all verdicts
duration         3 min 20 s  62 records a second
requests             11,010  enrich 11,000, verify 10
lookups              11,500  1,234 more saved by duplicates, 490 paid for before
credits               9,999
retries                  12
throttled                 3  61 s waited
latency             20.5 ms  p95 80 ms, p99 120 ms

Most errors: input:bad_row 300, enrich:http_500 40, verify:timeout 5
Result: out.csv
Report: out.csv.report.html (.report.json for programs)
Errors: out.csv.errors.jsonl
To ask again for the failed ones, and for nothing else: millrace retry, with the same job and flags.`);
  });

  it('shows the match rates of people and companies apart, each where it has answers', () => {
    const companies = { matched: 1, no_match: 9, matchRate: 0.1 };
    expect(summaryTable({ ...FULL, companies }, PATHS)).toContain(
      'match rate           83.3 %  of the people that were answered\nmatch rate           10.0 %  of the companies that were answered\n',
    );
    const { people: _, ...others } = FULL;
    expect(summaryTable({ ...others, companies }, PATHS).match(/^match rate.*$/gm)).toEqual([
      'match rate           10.0 %  of the companies that were answered',
    ]);
  });

  it('counts open rows, names their file, and says how to ask again', () => {
    const text = summaryTable({ ...FULL, open: 7 }, PATHS);
    expect(text).toContain('open                      7  lack a field: a provider was skipped or failed\n');
    expect(text).toContain('Open: out.csv.open.jsonl\nTo ask again for the failed ones and what the open rows lack, and for nothing else:');
  });

  it('has no shares for an empty input, and no lines for events that did not happen', () => {
    const text = summaryTable(EMPTY, PATHS);
    expect(text).not.toMatch(/NaN|%|rate|Most errors|a second|retries|throttled|latency|Errors:/);
    expect(text).toMatch(/^records +0$/m);
  });

  it('says that credits are "at least" while promised answers are open', () => {
    expect(summaryTable({ ...FULL, creditsAtLeast: 9_999 }, PATHS)).toMatch(
      /^credits +9,999  at least: some answers are still to come, or were lost$/m,
    );
    const cost = { amount: 12, currency: 'EUR' };
    expect(summaryTable({ ...FULL, creditsAtLeast: 9_999, cost }, PATHS)).toMatch(
      / {2}at least: some answers are still to come, or were lost; about /,
    );
  });

  it('names no files for rows that went to standard output', () => {
    expect(summaryTable(FULL, null)).not.toMatch(/Result:|Report:|Errors:/);
  });

  it('names the errors file as soon as one record failed or was invalid', () => {
    for (const name of ['failed', 'invalid'] as const)
      expect(summaryTable({ ...EMPTY, records: { ...EMPTY.records, total: 1, [name]: 1 } }, PATHS)).toContain('Errors:');
  });

  it('shows control characters in verdicts of the service as text', () => {
    expect(summaryTable({ ...EMPTY, verification: { '\u001b]0;title\u0007\u009b2J': 1 } }, null)).not.toMatch(
      /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/,
    );
  });

  it('shows the size of verify requests at a slow service', () => {
    expect(summaryTable({ ...FULL, verifyRequests: { addresses: 500, tooLarge: 2 } }, PATHS)).toMatch(
      /^too large +2 {2}verify requests; 500 addresses a request at the end$/m,
    );
  });
});
