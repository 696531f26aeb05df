import { paced } from '../../definition/support.ts';
import { RecordsOnTheWay } from '../../../src/job/run/on-the-way.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { barReporter } from '../../../src/job/progress/bar-reporter.ts';
import { Counters } from '../../../src/job/run/counters.ts';
import { buildReport } from '../../../src/job/report/report.ts';
import type { WatchedRun } from '../../../src/job/progress/snapshot.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { reportedJob } from '../../support/reported-job.ts';

/** A text without its colours. */
const bare = (text: string): string => text.replaceAll(/\u001b\[\d+m/g, '');

describe('the bar', () => {
  const job = {
    name: 'nightly',
    day: null,
    steps: ['enrich'],
    ...paced(null),
    limits: { limit: null },
    input: { columns: {} },
    output: { format: 'csv' },
  } as unknown as CompiledJob;
  const REPORT = buildReport(CHECKPOINT, reportedJob());
  let written: string[] = [];
  const terminal = (more: { isTTY?: boolean; columns?: number } = {}) => ({ write: (text: string) => written.push(text), ...more });
  const running = (resumed = false): WatchedRun =>
    ({
      job,
      checkpoint: {
        ...CHECKPOINT,
        totals: { ...CHECKPOINT.totals, lookups: { unique: 3_000, fromLedger: 0 } },
        mark: { ...CHECKPOINT.mark, tally: { ...EMPTY_TALLY, total: 1_234 } },
      },
      resumed,
      counters: new Counters(null, () => 0),
      limiter: { pausedMs: () => 0, throttledMs: () => 0, burst: 0 },
      pool: { outage: null, concurrency: 16, waiting: 0 },
      loop: { lastStarted: null, lastWritten: null, inProgress: 0, onTheWay: new RecordsOnTheWay() },
      writer: { tally: EMPTY_TALLY },
    }) as unknown as WatchedRun;

  beforeEach(() => {
    written = [];
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => vi.useRealTimers());

  it.each([[{ TERM: 'dumb' }], [{ CI: 'true' }]])('writes whole lines where %j says that none can be drawn again', (env) => {
    const reporter = barReporter(job, terminal({ isTTY: true, columns: 80 }), env);
    reporter.start(running());
    vi.advanceTimersByTime(20_000);
    expect(written.length).toBeGreaterThan(1);
    expect(written.join('')).not.toMatch(/\u001b\[\d*[AJ]|\r/);
    reporter.stop();
  });

  it.each([20, 40, 80, 200, 0, undefined])('redraws in place and never fills a terminal of %s columns', (columns) => {
    const reporter = barReporter(job, terminal({ isTTY: true, ...(columns === undefined ? {} : { columns }) }), {});
    reporter.start(running());
    vi.advanceTimersByTime(1_000);
    expect(written.length).toBeGreaterThan(1);
    const wide = columns === undefined || columns === 0 ? 100 : columns;
    for (const text of written) {
      const [, frame = ''] = /^\r(?:\u001b\[\d+A)?\u001b\[J([^]*)$/.exec(text) ?? [];
      expect(frame).not.toBe('');
      for (const line of frame.split('\n')) expect(bare(line).length).toBeLessThan(wide);
    }
    reporter.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('makes room for log lines, and disappears once it stops', () => {
    const reporter = barReporter(job, terminal({ isTTY: true, columns: 80 }), { NO_COLOR: '1' });
    reporter.warn('x', 'before');
    reporter.start(running(true));
    vi.advanceTimersByTime(200);
    reporter.warn('x', 'meanwhile');
    reporter.stop();
    reporter.stop();
    reporter.info('x', 'after');
    const bar = /^\r\u001b\[Jnightly \[/;
    expect(written.map((text) => (bar.test(text) ? 'bar' : text))).toEqual([
      'warning: before\n',
      'Resuming nightly after 1,234 rows and 3,000 lookups.\n',
      'bar',
      '\r\u001b[1A\u001b[J',
      'warning: meanwhile\n',
      'after\n',
    ]);
    vi.advanceTimersByTime(10_000);
    expect(written.at(-1)).toBe('after\n');
  });

  it('writes plain lines without control characters when standard error is not a terminal', () => {
    const reporter = barReporter(job, terminal(), {});
    reporter.start(running());
    vi.advanceTimersByTime(60_000);
    expect(written.length).toBeGreaterThan(3);
    expect(written.length).toBeLessThan(30);
    for (const text of written) expect(text).toMatch(/^nightly \[[█░]{24}\] .*\n$/);
    reporter.stopped({ ...REPORT, records: { ...REPORT.records, total: 1_000 }, lookups: { unique: 3_000, fromLedger: 0 } });
    expect(written.at(-1)).toBe('Stopped after 1,000 rows and 3,000 lookups; the same command resumes.\n');
    expect(written.join('')).not.toContain('\u001b');
  });

  it('ends without a preview when there is no output to read', async () => {
    const reporter = barReporter(job, terminal(), {});
    reporter.finished(REPORT, { output: '/nowhere/out.csv', report: 'r', errors: 'e' });
    const said = written.length;
    await reporter.close();
    expect(written).toHaveLength(said);
  });
});
