import type { PreviousRun } from '../../checkpoint/previous-run.ts';
import { EXIT, type ExitCode } from '../../util/errors.ts';
import { count } from '../../util/display.ts';
import type { KindCounts, Tally } from '../../writer/tally.ts';
import { answeredKinds, deliverableRate, matchRate, percent } from '../../writer/rates.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';

/** How a finished run exits. `exitReasons`: why not with 0, a sentence each without its full stop. */
export interface Judgement {
  readonly exitCode: ExitCode;
  readonly exitReasons: readonly string[];
}

/**
 * Judges a finished run: 1 when more records failed than `limits.maxErrors` allows, or one of `alerts` is met, else 0. Pure.
 * @param previous the last run; null without one
 */
export function judgeFinished(
  { limits: { maxErrors }, alerts }: Pick<CompiledJob, 'limits' | 'alerts'>,
  tally: Tally,
  previous: PreviousRun | null = null,
): Judgement {
  const {
    total,
    outcomes: { failed, skipped = 0 },
  } = tally;
  const lookedUp = total - skipped;
  // The share is divided, and not multiplied: 0.29 * 100 is less than 29, and 29 / 100 is 0.29.
  const isOver = 'count' in maxErrors ? failed > maxErrors.count : failed / lookedUp > maxErrors.share;
  const allowed = 'count' in maxErrors ? count(maxErrors.count) : percent(maxErrors.share);
  const { people, companies } = answeredKinds(tally);
  const rateOf = (kind: KindCounts | undefined): number | null => (kind === undefined ? null : matchRate({ outcomes: kind }));
  const exitReasons = [
    ...(isOver ? [`${count(failed)} of ${count(lookedUp)} records failed, and limits.maxErrors allows ${allowed}`] : []),
    ...below('the match rate', matchRate(tally), 'alerts.matchRateBelow', alerts.matchRateBelow),
    ...below('the match rate of people', rateOf(people), 'alerts.peopleMatchRateBelow', alerts.peopleMatchRateBelow),
    ...below('the match rate of companies', rateOf(companies), 'alerts.companyMatchRateBelow', alerts.companyMatchRateBelow),
    ...below('the deliverable rate', deliverableRate(tally), 'alerts.deliverableBelow', alerts.deliverableBelow),
    ...(previous === null ? [] : rowAlerts(total, previous, alerts)),
  ];
  return { exitCode: exitReasons.length > 0 ? EXIT.tooManyFailed : EXIT.ok, exitReasons };
}

/** A run without rows is no measure for others. */
function rowAlerts(rows: number, { records: { total: before }, sameInput }: PreviousRun, alerts: CompiledJob['alerts']): string[] {
  const part = before === 0 ? 1 : rows / before;
  const reason = (key: 'rowsBelow' | 'rowsAbove'): string =>
    `the input has ${count(rows)} rows, that of the last run had ${count(before)}, and alerts.${key} is ${percent(alerts[key] ?? 0)}`;
  return [
    ...(alerts.rowsBelow !== null && part < alerts.rowsBelow ? [reason('rowsBelow')] : []),
    ...(alerts.rowsAbove !== null && part > alerts.rowsAbove ? [reason('rowsAbove')] : []),
    ...(alerts.sameInput && sameInput === true ? ['the input is that of the last run, and alerts.sameInput is true'] : []),
  ];
}

/** A rate of nothing is below no bound. */
function below(what: string, rate: number | null, key: string, bound: number | null): string[] {
  return rate === null || bound === null || rate >= bound ? [] : [`${what} is ${percent(rate)}, and ${key} is ${percent(bound)}`];
}
