import { paced } from '../../definition/support.ts';
import { RecordsOnTheWay } from '../../../src/job/run/on-the-way.ts';
import type * as pinoModule from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Counters } from '../../../src/job/run/counters.ts';
import { logReporter } from '../../../src/job/progress/log-reporter.ts';
import { buildReport } from '../../../src/job/report/report.ts';
import type { WatchedRun } from '../../../src/job/progress/snapshot.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';
import { reportedJob } from '../../support/reported-job.ts';

/** Standard error, kept in memory. */
const lines = vi.hoisted((): string[] => []);
vi.mock('pino', async (original) => {
  const { pino } = await original<typeof pinoModule>();
  const logger = Object.assign((options: pinoModule.LoggerOptions) => pino(options, { write: (text: string) => lines.push(text) }), pino, {
    destination: () => ({ on: () => undefined, flushSync: () => undefined }),
  });
  return { pino: logger };
});

const job = { name: 'nightly', steps: ['enrich'], ...paced(600), limits: { limit: null } } as unknown as CompiledJob;
const REPORT = buildReport(CHECKPOINT, reportedJob(), 600);
const parsed = (): Record<string, unknown>[] => lines.map((text) => JSON.parse(text) as Record<string, unknown>);

function running(more: Partial<WatchedRun> = {}): WatchedRun {
  return {
    job,
    checkpoint: CHECKPOINT,
    resumed: false,
    counters: new Counters(null, () => 0),
    limiter: { pausedMs: () => 0, throttledMs: () => 0, burst: 0 },
    pool: { outage: { forMs: 12_345.6, probeInMs: 1_234.5 }, concurrency: 16, waiting: 0 },
    loop: { lastStarted: null, lastWritten: null, inProgress: 5, onTheWay: new RecordsOnTheWay() },
    writer: { tally: { ...EMPTY_TALLY, total: 7, outcomes: { ...EMPTY_TALLY.outcomes, matched: 7 } } },
    ...more,
  } as unknown as WatchedRun;
}

beforeEach(() => {
  lines.length = 0;
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => vi.useRealTimers());

describe('the log', () => {
  it('has one JSON object per line, each with level, time, event, job and message', () => {
    const reporter = logReporter(job, 'info');
    reporter.info('a', 'one\ntwo');
    reporter.warn('b', 'three');
    reporter.start(running());
    vi.advanceTimersByTime(10_000);
    reporter.stopped(REPORT);
    reporter.finished(REPORT, null);
    reporter.done(REPORT, { output: '', report: '', errors: '' }, 'nothing was called', false);
    expect(parsed().map(({ level, event }) => [level, event])).toEqual([
      [30, 'a'],
      [40, 'b'],
      [30, 'started'],
      [30, 'progress'],
      [40, 'stopped'],
      [30, 'finished'],
      [30, 'nothing_to_do'],
    ]);
    for (const [i, line] of parsed().entries()) {
      expect(lines[i]).toMatch(/^[^\n]+\n$/);
      expect(line).toMatchObject({ job: 'nightly', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/), msg: expect.any(String) });
      expect(line).not.toHaveProperty('pid');
    }
  });

  it('has a progress line every ten seconds until it stops', () => {
    const reporter = logReporter(job, 'info');
    reporter.start(running());
    vi.advanceTimersByTime(35_000);
    reporter.stop();
    vi.advanceTimersByTime(60_000);
    const progress = parsed().filter(({ event }) => event === 'progress');
    expect(progress).toHaveLength(3);
    // Everything is read and nothing was sent. The time left is the wait for the next probe.
    expect(progress[0]).toMatchObject({
      rows: 7,
      matched: 7,
      failed: 0,
      inProgress: 5,
      share: expect.any(Number),
      rowsPerSecond: 0,
      callsPerSecond: 0,
      quotaShare: 0,
      etaS: 1,
      retries: 0,
      throttled: 0,
      throttledMs: 0,
      concurrency: 16,
      heldUpBy: 'outage',
      heldUpLeftMs: 1_235,
      downMs: 12_346,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('has an event resumed with the number of rows before it', () => {
    const mark = { ...CHECKPOINT.mark, tally: { ...EMPTY_TALLY, total: 99 } };
    logReporter(job, 'info').start(running({ resumed: true, checkpoint: { ...CHECKPOINT, mark } }));
    expect(parsed()[0]).toMatchObject({ event: 'resumed', run: 'run-1', rows: 99, files: 0 });
  });

  it.each([
    ['debug', 3],
    ['info', 3],
    ['warn', 2],
    ['error', 0],
    ['silent', 0],
  ])('level %s: %s of an info and two warnings', async (level, expected) => {
    const reporter = logReporter(job, level);
    reporter.info('a', '');
    reporter.warn('b', '');
    reporter.stopped(REPORT);
    await reporter.close();
    expect(lines).toHaveLength(expected);
  });
});
