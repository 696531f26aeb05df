import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as fc from '../../support/fast-check.ts';
import { barReporter, progressLine } from '../../../src/job/progress/bar-reporter.ts';
import { Counters } from '../../../src/job/run/counters.ts';
import { buildReport } from '../../../src/job/report/report.ts';
import type { HeldUp, RunParts, Snapshot } from '../../../src/job/progress/snapshot.ts';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import type { WaitReason } from '../../../src/util/waits.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';
import { CHECKPOINT } from '../../checkpoint/samples.ts';

const NOTHING_YET: Snapshot = {
  tally: EMPTY_TALLY,
  done: 0,
  expected: null,
  share: 0,
  inProgress: 0,
  rowsPerSecond: 0,
  callsPerSecond: 0,
  quotaShare: null,
  etaMs: null,
  retries: 0,
  throttled: { events: 0, waitedMs: 0 },
  concurrency: 16,
  heldUp: null,
};
const heldUp = (by: WaitReason, leftMs: number | null, forMs = 0): HeldUp => ({ by, what: 'what it is', forMs, leftMs });
const line = (now: Partial<Snapshot>): string => progressLine('nightly', { ...NOTHING_YET, ...now });

describe('the progress line', () => {
  it('before the first answer has no ETA, no quota and no outcomes', () => {
    expect(line({})).toBe(`nightly [${'░'.repeat(24)}] 0% · 0 records · 0 requests/s`);
  });

  it('shows progress, ETA, quota and outcomes', () => {
    const tally = { ...EMPTY_TALLY, total: 12_345, outcomes: { ...EMPTY_TALLY.outcomes, matched: 12_000, failed: 345 } };
    expect(
      line({
        tally,
        done: 12_345,
        expected: { records: 24_690, isExact: false },
        share: 0.5,
        inProgress: 1_000,
        callsPerSecond: 83.4,
        quotaShare: 0.996,
        etaMs: 125_000,
        retries: 7,
      }),
    ).toBe(
      `nightly [${'█'.repeat(12)}▒${'░'.repeat(11)}] 50% · 12,345 of about 24,690 records + 1,000 in progress · 83 requests/s · quota ` +
        '100% · ETA 2 min 5 s · matched 12,000 failed 345 · retries 7',
    );
  });

  it('names within 80 columns what the run waits for', () => {
    expect(line({ share: 0.42, heldUp: heldUp('outage', 15_000, 599_000) }).slice(0, 79)).toContain('SERVICE DOWN, next probe in 15 s');
    expect(line({ share: 0.42, heldUp: heldUp('throttled', 599_000) }).slice(0, 79)).toContain('THROTTLED, 9 min 59 s left');
  });

  it('shows how often the run was throttled, and for how long', () => {
    expect(line({ throttled: { events: 3, waitedMs: 62_000 } })).toMatch(/ · throttled 3 \(1 min 2 s\)$/);
  });

  it('shows the size of verify requests once some were too large', () => {
    expect(line({ verifyRequests: { addresses: 500, tooLarge: 2 } })).toMatch(/ · verify 500 a request \(2 too large\)$/);
  });

  it('shows records in progress in the bar before the first row is written, and counts none of them', () => {
    const expected = { records: 2_500, isExact: false };
    expect(line({ expected, inProgress: 1_250 })).toContain(
      `[${'▒'.repeat(12)}${'░'.repeat(12)}] 0% · 0 of about 2,500 records + 1,250 in progress · `,
    );
    expect(line({ expected, share: 0.5, done: 1_250, inProgress: 1_250 })).toContain(`[${'█'.repeat(12)}${'▒'.repeat(12)}] 50% · `);
    // The reader may have read more records than the estimate.
    expect(line({ expected, inProgress: 3_000 })).toContain(`[${'▒'.repeat(24)}] 0% · `);
  });

  it('has a bar of 24 characters, and shows 100 % only when all is done', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(), fc.nat(), (share, records, inProgress) => {
        const [, bar = '', percent = ''] =
          /\[([█▒░]*)\] (\d+)%/.exec(line({ share, inProgress, expected: { records, isExact: true } })) ?? [];
        expect(bar).toHaveLength(24);
        expect(bar).toMatch(/^█*▒*░*$/);
        expect(percent === '100').toBe(share === 1);
      }),
    );
  });

  it('names the reason of a wait instead of an ETA', () => {
    const late = { etaMs: 60_000, share: 0.5 };
    expect(line(late)).toMatch(/ETA 1 min 0 s$/);
    const bar = '\\] 50% · ';
    expect(line({ ...late, heldUp: heldUp('outage', 3_500, 65_000) })).toMatch(
      new RegExp(`${bar}SERVICE DOWN, next probe in 4 s \\(for 1 min 5 s\\) · 0 records · 0 requests/s$`),
    );
    expect(line({ ...late, heldUp: heldUp('outage', 0, 900) })).toMatch(new RegExp(`${bar}SERVICE DOWN, probing \\(for 1 s\\) · `));
    expect(line({ ...late, heldUp: { ...heldUp('outage', 8_000, 31_000), lastLookups: 'http_500' } })).toMatch(
      new RegExp(`${bar}LAST LOOKUPS FAIL \\(http_500\\), next probe in 8 s \\(for 31 s\\) · `),
    );
    expect(line({ ...late, heldUp: heldUp('throttled', 4_100) })).toMatch(
      new RegExp(`${bar}THROTTLED, 5 s left · 0 records · 0 requests/s$`),
    );
    expect(line({ ...late, heldUp: heldUp('quota', 61_000) })).toMatch(new RegExp(`${bar}quota used up, 1 min 1 s left · `));
    expect(line({ ...late, heldUp: heldUp('answers', null) })).toMatch(new RegExp(`${bar}waiting for what it is · `));
    expect(line({ ...late, heldUp: heldUp('verify', 12_000) })).toMatch(new RegExp(`${bar}waiting for what it is, 12 s left · `));
    expect(line({ ...late, share: 1, etaMs: 0 })).not.toContain('ETA');
  });
});

describe('the bar', () => {
  const job = {
    name: 'nightly',
    steps: ['enrich'],
    service: { rpm: null },
    limits: { limit: null },
    input: { columns: {} },
    output: { format: 'csv' },
  } as unknown as CompiledJob;
  const REPORT = buildReport(CHECKPOINT, 'out.csv', null);
  let written: string[] = [];
  const terminal = (more: { isTTY?: boolean; columns?: number } = {}) => ({ write: (text: string) => written.push(text), ...more });
  const running = (resumed = false): RunParts =>
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
      loop: { lastStarted: null, lastWritten: null, inProgress: 0 },
      writer: { tally: EMPTY_TALLY },
    }) as unknown as RunParts;

  beforeEach(() => {
    written = [];
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  });
  afterEach(() => vi.useRealTimers());

  it.each([20, 40, 80, 200, 0, undefined])('redraws in place and never fills a terminal of %s columns', (columns) => {
    const reporter = barReporter(job, terminal({ isTTY: true, ...(columns === undefined ? {} : { columns }) }));
    reporter.start(running());
    vi.advanceTimersByTime(1_000);
    expect(written.length).toBeGreaterThan(1);
    const wide = columns === undefined || columns === 0 ? 100 : columns;
    for (const text of written) {
      expect(text.startsWith('\r\u001b[2K')).toBe(true);
      expect(text).not.toContain('\n');
      expect(text.slice('\r\u001b[2K'.length).length).toBeLessThan(Math.max(21, wide));
    }
    reporter.stop();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('makes room for log lines, and disappears once it stops', () => {
    const reporter = barReporter(job, terminal({ isTTY: true, columns: 80 }));
    reporter.warn('x', 'before');
    reporter.start(running(true));
    vi.advanceTimersByTime(200);
    reporter.warn('x', 'meanwhile');
    reporter.stop();
    reporter.stop();
    reporter.info('x', 'after');
    const bar = /^\r\u001b\[2Knightly \[/;
    expect(written.map((text) => (bar.test(text) ? 'bar' : text))).toEqual([
      'warning: before\n',
      'Resuming nightly after 1,234 rows and 3,000 lookups.\n',
      'bar',
      '\r\u001b[2K',
      'warning: meanwhile\n',
      '\r\u001b[2K',
      'after\n',
    ]);
    vi.advanceTimersByTime(10_000);
    expect(written.at(-1)).toBe('after\n');
  });

  it('writes plain lines without control characters when standard error is not a terminal', () => {
    const reporter = barReporter(job, terminal());
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
    const reporter = barReporter(job, terminal());
    reporter.finished(REPORT, { output: '/nowhere/out.csv', report: 'r', errors: 'e' });
    const said = written.length;
    await reporter.close();
    expect(written).toHaveLength(said);
  });
});
