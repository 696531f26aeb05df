import { describe, expect, it } from 'vitest';
import * as fc from '../../support/fast-check.ts';
import { paintFor, plain } from '../../../src/job/progress/colours.ts';
import { progressLine, progressLines } from '../../../src/job/progress/progress-lines.ts';
import type { HeldUp, Snapshot } from '../../../src/job/progress/snapshot.ts';
import type { WaitReason } from '../../../src/util/waits.ts';
import { EMPTY_TALLY } from '../../../src/writer/tally.ts';

const NOTHING_YET: Snapshot = {
  tally: EMPTY_TALLY,
  done: 0,
  expected: null,
  share: 0,
  inProgress: 0,
  outcomes: EMPTY_TALLY.outcomes,
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
const line = (now: Partial<Snapshot>): string =>
  progressLine('nightly', { ...NOTHING_YET, outcomes: now.tally?.outcomes ?? EMPTY_TALLY.outcomes, ...now });

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

  it('shows the match rates of people and companies where there are both', () => {
    const tally = { ...EMPTY_TALLY, total: 30, outcomes: { ...EMPTY_TALLY.outcomes, matched: 20, no_match: 10 } };
    expect(line({ tally: { ...tally, companies: { matched: 10, no_match: 0 } } })).toMatch(
      / · matched 20 no_match 10 · people matched 50 % · companies matched 100 %$/,
    );
    expect(line({ tally })).toMatch(/ · matched 20 no_match 10$/);
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

describe('the lines on a terminal', () => {
  const tally = { ...EMPTY_TALLY, total: 12_345, outcomes: { ...EMPTY_TALLY.outcomes, matched: 12_000, failed: 345 } };
  const FULL: Snapshot = {
    ...NOTHING_YET,
    tally,
    outcomes: tally.outcomes,
    done: 12_345,
    expected: { records: 24_690, isExact: false },
    share: 0.5,
    inProgress: 1_000,
    callsPerSecond: 83.4,
    quotaShare: 0.996,
    etaMs: 125_000,
    retries: 7,
    throttled: { events: 3, waitedMs: 62_000 },
  };
  const at = (columns: number, rows: number, now: Partial<Snapshot> = {}): string[] =>
    progressLines('nightly', { ...FULL, ...now }, { columns, rows });

  it('have everything in lines of their own where there is room', () => {
    expect(at(80, 24, { heldUp: heldUp('throttled', 4_100) })).toEqual([
      `nightly [${'█'.repeat(12)}▒${'░'.repeat(11)}] 50% · 12,345 of about 24,690 records`,
      '  rate      83 requests/s · quota 100%',
      '  outcomes  matched 12,000 · failed 345 · retries 7 · throttled 3 (1 min 2 s)',
      '  waits for THROTTLED, 5 s left',
    ]);
    expect(at(160, 24)).toEqual([
      `nightly [${'█'.repeat(12)}▒${'░'.repeat(11)}] 50% · 12,345 of about 24,690 records + 1,000 in progress`,
      '  rate      83 requests/s · quota 100% · ETA 2 min 5 s',
      '  outcomes  matched 12,000 · failed 345 · retries 7 · throttled 3 (1 min 2 s)',
    ]);
  });

  it('leave out the least important parts on a narrow or low terminal', () => {
    expect(at(100, 4)).toEqual([
      `nightly [${'█'.repeat(12)}▒${'░'.repeat(11)}] 50% · 12,345 of about 24,690 records · ETA 2 min 5 s · retries 7`,
    ]);
    expect(at(40, 24)).toEqual(['nightly [█████░░░░░] 50% · quota 100%']);
    expect(at(52, 24, { heldUp: heldUp('quota', 4_000) })).toEqual(['nightly [█████░░░░░] 50% · quota used up, 4 s left']);
  });

  it('never fill the width, whatever it is', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 220 }),
        fc.integer({ min: 1, max: 60 }),
        fc.string({ maxLength: 60 }),
        fc.boolean(),
        (columns, rows, name, waits) => {
          const lines = progressLines(name, { ...FULL, heldUp: waits ? heldUp('answers', 90_000) : null }, { columns, rows });
          for (const line of lines) expect(line.length).toBeLessThanOrEqual(Math.max(1, columns - 1));
          expect(lines.length).toBeLessThanOrEqual(columns < 60 || rows < 8 ? 1 : 4);
        },
      ),
    );
  });

  it('have the same text in colour as without', () => {
    const paint = paintFor({ isTTY: true }, {});
    const [coloured, bare] = [paint, plain].map((one) => progressLines('nightly', FULL, { columns: 120, rows: 24 }, one));
    expect(coloured?.join('\n')).toContain('\u001b[');
    expect(coloured?.map((line) => line.replaceAll(/\u001b\[\d+m/g, ''))).toEqual(bare);
  });
});

describe('colours', () => {
  const isColoured = (isTTY: boolean, env: NodeJS.ProcessEnv): boolean => paintFor({ isTTY }, env)('red', 'x') !== 'x';

  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [false, { FORCE_COLOR: '1' }, true],
    [true, { FORCE_COLOR: '0' }, false],
    [true, { FORCE_COLOR: '1', NO_COLOR: '1' }, true],
  ])('on a terminal (%s) with %j: %s', (isTTY, env, expected) => {
    expect(isColoured(isTTY, env)).toBe(expected);
  });
});
