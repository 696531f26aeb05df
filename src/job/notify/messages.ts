/** The messages about the end of a run, as a Standard Webhook or for Slack. Pure. */
import type { Notification } from '../../definition/notification.ts';
import { moneyText } from '../../definition/credit-price.ts';
import { count, duration } from '../../util/display.ts';
import { deliverableRate, kindRates, percent } from '../../writer/rates.ts';
import type { Report } from '../report/report.ts';

/** The end of a run. */
export interface RunEnd {
  readonly job: string;
  readonly exitCode: number;
  /** Null when the run finished. */
  readonly error: { readonly code: string; readonly message: string; readonly hint: string | null } | null;
  /** Null when the run ended before it began. */
  readonly report: Report | null;
}

/** `job.finished`: all rows are written. `job.trouble`: the exit code is not 0. */
export type MessageType = 'job.finished' | 'job.trouble';

/** The JSON text of a message. @param at RFC 3339 */
export function messageBody(format: Notification['format'], type: MessageType, end: RunEnd, at: string): string {
  return JSON.stringify(format === 'slack' ? { text: slackText(type, end) } : { type, timestamp: at, data: end });
}

/** At most five lines, for a chat. */
export function slackText(type: MessageType, { job, exitCode, error, report }: RunEnd): string {
  const ending = `${error === null ? 'finished' : 'stopped'}${type === 'job.trouble' ? ` with exit code ${exitCode}` : ''}`;
  return [
    `*${escaped(job)}* ${ending}`,
    ...(error === null
      ? (report?.exitReasons ?? []).map(escaped)
      : [escaped(error.message), ...(error.hint === null ? [] : [escaped(error.hint)])]),
    ...(report === null ? [] : [figures(report)]),
    ...(report === null || error !== null ? [] : [`Result: ${escaped(report.output.uri)}`]),
  ].join('\n');
}

function figures(report: Report): string {
  const { records, verification, credits, cost, finishedAt, activeMs, open } = report;
  const deliverable = deliverableRate({ verification });
  const rates = kindRates(report);
  return [
    `${count(records.total)} records`,
    ...rates.map(({ kind, rate }) => `${percent(rate)} ${rates.length > 1 ? `of ${kind} ` : ''}matched`),
    ...(deliverable === null ? [] : [`${percent(deliverable)} deliverable`]),
    ...(records.failed === 0 ? [] : [`${count(records.failed)} failed`]),
    ...(open === undefined ? [] : [`${count(open)} open`]),
    `${count(credits)} credits${cost === undefined ? '' : ` (${moneyText(cost)})`}`,
    ...(finishedAt === null ? [] : [`in ${duration(activeMs)}`]),
  ].join(', ');
}

/** Slack's three control characters (its formatting reference). */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
