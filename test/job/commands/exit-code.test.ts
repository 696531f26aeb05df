import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import type { CompiledJob } from '../../../src/definition/compiled-job.ts';
import { judgeFinished, type Judgement } from '../../../src/job/commands/exit-code.ts';
import { compiled, LEAST } from '../../definition/support.ts';
import { eachAlert } from '../../../src/definition/alerts.ts';
import { EMPTY_TALLY, type Tally } from '../../../src/writer/tally.ts';

const NO_ALERTS = eachAlert(() => null);

describe('the exit code of a finished run', () => {
  const n = fc.nat({ max: 10_000 });
  const tally = (total: number, failed: number) => ({ ...EMPTY_TALLY, total, outcomes: { ...EMPTY_TALLY.outcomes, failed } });
  const code = (maxErrors: CompiledJob['limits']['maxErrors'], total: number, failed: number): number =>
    judgeFinished({ limits: { maxErrors } as CompiledJob['limits'], alerts: NO_ALERTS }, tally(total, failed)).exitCode;

  it('becomes 1 when more records failed than the count allows', () => {
    fc.assert(fc.property(n, n, (allowed, failed) => code({ count: allowed }, 20_000, failed) === (failed > allowed ? 1 : 0)));
  });

  it('becomes 1 when a larger share of all records failed than is allowed', () => {
    expect([
      code({ share: 0.05 }, 100, 5),
      code({ share: 0.05 }, 100, 6),
      code({ share: 0 }, 100, 1),
      code({ share: 1 }, 100, 100),
    ]).toEqual([0, 1, 1, 0]);
  });

  it('stays 0 when exactly the allowed share failed, with any number of decimals, and 1 with one failure more', () => {
    const decimals = fc.constantFrom(0, 1, 2, 3);
    fc.assert(
      fc.property(decimals, fc.nat(), fc.integer({ min: 1, max: 1_000 }), (places, seed, times) => {
        const hundred = 100 * 10 ** places;
        const part = seed % hundred;
        const { limits } = compiled({ flags: { ...LEAST, 'max-errors': `${(part / 10 ** places).toFixed(places)}%` } });
        expect([0, 1].map((more) => code(limits.maxErrors, hundred * times, part * times + more))).toEqual([0, 1]);
      }),
    );
  });

  it('stays 0 when no record failed, also for an empty input', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.record({ count: n }), fc.record({ share: fc.double({ min: 0, max: 1, noNaN: true }) })),
        n,
        (maxErrors, total) => code(maxErrors, total, 0) === 0,
      ),
    );
  });
});

describe('the alerts of a job', () => {
  const judge = (alerts: CompiledJob['alerts'], tally: Partial<Tally>): Judgement =>
    judgeFinished({ limits: compiled({ flags: LEAST }).limits, alerts }, { ...EMPTY_TALLY, total: 10, ...tally });
  const outcomes = (matched: number, missed: number) => ({
    outcomes: { ...EMPTY_TALLY.outcomes, matched, no_match: missed, invalid: 3 },
  });

  it('name the match rate of the answered records when it is below its bound, and say nothing at the bound', () => {
    const alerts = { ...NO_ALERTS, matchRateBelow: 0.4 };
    expect(judge(alerts, outcomes(39, 61))).toEqual({
      exitCode: 1,
      exitReasons: ['the match rate is 39 %, and alerts.matchRateBelow is 40 %'],
    });
    expect(judge(alerts, outcomes(40, 60))).toEqual({ exitCode: 0, exitReasons: [] });
  });

  it('judge people and companies apart, and each kind only where it has answers', () => {
    const mixed = { ...outcomes(70, 30), companies: { matched: 60, no_match: 0 } };
    const alerts = { ...NO_ALERTS, peopleMatchRateBelow: 0.5, companyMatchRateBelow: 0.5 };
    expect(judge(alerts, mixed).exitReasons).toEqual(['the match rate of people is 25 %, and alerts.peopleMatchRateBelow is 50 %']);
    expect(judge({ ...alerts, matchRateBelow: 0.5 }, mixed).exitReasons).toHaveLength(1);
    const companies = { ...outcomes(10, 90), companies: { matched: 10, no_match: 90 } };
    expect(judge(alerts, companies).exitReasons).toEqual(['the match rate of companies is 10 %, and alerts.companyMatchRateBelow is 50 %']);
  });

  it('compare the rows and the input with those of the last run, and not with a run without rows', () => {
    const judgedWith = (
      alerts: Partial<CompiledJob['alerts']>,
      rows: number,
      before: number | null,
      sameInput = false,
    ): readonly string[] =>
      judgeFinished(
        { limits: compiled({ flags: LEAST }).limits, alerts: { ...NO_ALERTS, ...alerts } },
        { ...EMPTY_TALLY, total: rows },
        before === null
          ? null
          : ({ records: { total: before }, ...(sameInput ? { sameInput } : {}) } as unknown as Parameters<typeof judgeFinished>[2]),
      ).exitReasons;
    const bounds = { rowsBelow: 0.5, rowsAbove: 2 };
    expect(judgedWith(bounds, 49, 100)).toEqual(['the input has 49 rows, that of the last run had 100, and alerts.rowsBelow is 50 %']);
    expect(judgedWith(bounds, 201, 100)).toEqual(['the input has 201 rows, that of the last run had 100, and alerts.rowsAbove is 200 %']);
    expect([50, 200].flatMap((rows) => judgedWith(bounds, rows, 100))).toEqual([]);
    expect([null, 0].flatMap((before) => judgedWith(bounds, 10, before))).toEqual([]);
    expect(judgedWith({ sameInput: true }, 10, 10, true)).toEqual(['the input is that of the last run, and alerts.sameInput is true']);
    expect([judgedWith({ sameInput: true }, 10, 10), judgedWith({}, 10, 10, true)]).toEqual([[], []]);
  });

  it('name the share of deliverable addresses among all verdicts', () => {
    const alerts = { ...NO_ALERTS, deliverableBelow: 0.5 };
    expect(judge(alerts, { verification: { deliverable: 1, risky: 1, unknown: 1 } })).toEqual({
      exitCode: 1,
      exitReasons: ['the deliverable rate is 33.3 %, and alerts.deliverableBelow is 50 %'],
    });
    expect(judge(alerts, { verification: { deliverable: 1, risky: 1 } }).exitCode).toBe(0);
  });

  it('say nothing of a job without answers or verdicts', () => {
    expect(
      judge(
        eachAlert(() => 1),
        {},
      ),
    ).toEqual({ exitCode: 0, exitReasons: [] });
  });
});
