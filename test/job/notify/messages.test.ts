import { describe, expect, it } from 'vitest';
import { messageBody, slackText, type RunEnd } from '../../../src/job/notify/messages.ts';
import { buildReport } from '../../../src/job/report/report.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { reportedJob } from '../../support/reported-job.ts';

const REPORT = {
  ...buildReport(CHECKPOINT, reportedJob('s3://bucket/out.csv')),
  startedAt: '2026-01-01T00:00:00Z',
  // Stopped in between: a day of them the run was not going on.
  finishedAt: '2026-01-02T00:03:20Z',
  activeMs: 200_000,
  records: { total: 1_000, matched: 600, no_match: 400, invalid: 0, suppressed: 0, failed: 0 },
  people: { matched: 600, no_match: 400, matchRate: 0.6 },
  verification: { deliverable: 450, risky: 150 },
  credits: 1_200,
};
const FINISHED: RunEnd = { job: 'nightly', exitCode: 0, error: null, report: REPORT };

describe('a message for Slack', () => {
  it('has the figures and the result of a finished run', () => {
    expect(slackText('job.finished', { ...FINISHED, report: { ...REPORT, cost: { amount: 14.4, currency: 'EUR' } } })).toBe(
      '*nightly* finished\n' +
        '1,000 records, 60 % matched, 75 % deliverable, 1,200 credits (14.40 EUR), in 3 min 20 s\n' +
        'Result: s3://bucket/out.csv',
    );
  });

  it('has people and companies apart, and open rows', () => {
    const report = { ...REPORT, companies: { matched: 1, no_match: 3, matchRate: 0.25 }, open: 7 };
    expect(slackText('job.finished', { ...FINISHED, report })).toContain(
      '1,000 records, 60 % of people matched, 25 % of companies matched, 75 % deliverable, 7 open, 1,200 credits',
    );
  });

  it('has the reasons for exit code 1', () => {
    const report = { ...REPORT, exitReasons: ['the match rate is 60 %, and alerts.matchRateBelow is 70 %'] };
    expect(slackText('job.trouble', { ...FINISHED, exitCode: 1, report })).toContain(
      '*nightly* finished with exit code 1\nthe match rate is 60 %, and alerts.matchRateBelow is 70 %\n',
    );
  });

  it('has the message and the advice of an error, with its control characters escaped', () => {
    const error = { code: 'outage', message: 'the service <a> & <b> is down', hint: 'Run the same command.' };
    expect(slackText('job.trouble', { job: 'a<b', exitCode: 69, error, report: null })).toBe(
      '*a&lt;b* stopped with exit code 69\nthe service &lt;a&gt; &amp; &lt;b&gt; is down\nRun the same command.',
    );
  });
});

describe('a Standard Webhook', () => {
  it('has the type, the time and the whole report', () => {
    expect(JSON.parse(messageBody('standard', 'job.finished', FINISHED, '2026-01-01T00:03:21Z'))).toEqual({
      type: 'job.finished',
      timestamp: '2026-01-01T00:03:21Z',
      data: JSON.parse(JSON.stringify(FINISHED)) as unknown,
    });
  });
});
