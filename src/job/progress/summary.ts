import { count, duration, printable } from '../../util/display.ts';
import { sideFilePath } from '../../definition/output-shape.ts';
import type { JobPaths } from '../lifecycle/paths.ts';
import { moneyText } from '../../definition/credit-price.ts';
import type { Report } from '../report/report.ts';
import { SAMPLE_DATA } from './notices.ts';
import { providerLines } from './provider-lines.ts';
import { deliverableRate, kindRates } from '../../writer/rates.ts';
import type { Tally } from '../../writer/tally.ts';

/** Error codes that are shown. */
const MOST_ERRORS = 3;

/** Completes a number of open rows. */
const OPEN_MEANS = 'lack a field: a provider was skipped or failed';

/** The rows that a retry asks for, such as `12 records failed, 40 lack a field: a provider was skipped or failed`. */
export function leftText({ outcomes: { failed }, open = 0 }: Pick<Tally, 'outcomes' | 'open'>): string {
  const parts = [
    ...(failed > 0 || open === 0 ? [`${count(failed)} records failed`] : []),
    ...(open > 0 ? [`${count(open)} ${OPEN_MEANS}`] : []),
  ];
  return parts.join(', ');
}

/** The table at the end of a run, with the names of its files. */
export function summaryTable(report: Report, paths: Pick<JobPaths, 'report' | 'errors' | 'output'> | null): string {
  const { records, calls } = report;
  const share = (n: number): string => (records.total === 0 ? '' : inPercent(n / records.total));
  const rows: [string, string, string][] = [
    [
      'records',
      count(records.total),
      records.total === 0 ? '' : paths === null ? 'written so far; the shares are of these' : 'the shares are of these',
    ],
    ...(['matched', 'no_match', 'invalid', 'suppressed', 'failed'] as const).map((name): [string, string, string] => [
      `  ${name}`,
      count(records[name]),
      share(records[name]),
    ]),
    ...(records.skipped === undefined
      ? []
      : [
          ['  skipped', count(records.skipped), `${share(records.skipped)} by input.where or when`.trim()] satisfies [
            string,
            string,
            string,
          ],
        ]),
    ...(report.open === undefined ? [] : [['open', count(report.open), OPEN_MEANS] satisfies [string, string, string]]),
    ...Object.entries(report.verification).map(([name, n]): [string, string, string] => [`  ${printable(name)}`, count(n), share(n)]),
    ...kindRates(report).flatMap(({ kind, rate: share }) => rate('match rate', share, `of the ${kind} that were answered`)),
    ...rate('deliverable', deliverableRate(report), 'of all verdicts'),
    ['duration', duration(report.activeMs), speed(report)],
    [
      'requests',
      count(Object.values(calls).reduce((sum, n) => sum + n, 0)),
      Object.entries(calls)
        .map(([step, n]) => `${step} ${count(n)}`)
        .join(', '),
    ],
    ...Object.entries(report.skippedSteps ?? {}).map(([step, { when }]): [string, string, string] => [
      `${step} skipped`,
      count(when),
      'by its condition',
    ]),
    ['lookups', count(report.lookups.unique), saved(report)],
    ['credits', count(report.credits), creditsNote(report)],
  ];
  if (report.retries > 0) rows.push(['retries', count(report.retries), '']);
  if (report.throttled.events > 0)
    rows.push(['throttled', count(report.throttled.events), `${Math.round(report.throttled.waitedMs / 1_000)} s waited`]);
  if (report.verifyRequests !== undefined)
    rows.push([
      'too large',
      count(report.verifyRequests.tooLarge),
      `verify requests; ${count(report.verifyRequests.addresses)} addresses a request at the end`,
    ]);
  if (report.latencyMs.p50 !== null)
    rows.push(['latency', `${report.latencyMs.p50} ms`, `p95 ${report.latencyMs.p95} ms, p99 ${report.latencyMs.p99} ms`]);
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = ['', ...rows.map(([name, value, note]) => `${name.padEnd(width)}  ${value.padStart(10)}  ${note}`.trimEnd()), ''];
  const brought = providerLines(report);
  if (brought.length > 0) lines.push(...brought, '');
  if (report.sampleData === true) lines.push(`Answers are ${SAMPLE_DATA}.`);
  const leading = leadingErrors(report);
  if (leading !== '') lines.push(`Most errors: ${leading}`);
  for (const reason of report.exitReasons ?? []) lines.push(`Exit code ${report.exitCode}: ${reason}.`);
  if (paths !== null) {
    lines.push(`Result: ${report.output.uri}`);
    lines.push(`Report: ${report.output.uri}.report.html (.report.json for programs)`);
    if (records.failed + records.invalid > 0) lines.push(`Errors: ${sideFilePath(report.output.uri, 'errors')}`);
    if (report.open !== undefined) lines.push(`Open: ${sideFilePath(report.output.uri, 'open')}`);
    const left = [...(records.failed > 0 ? ['the failed ones'] : []), ...(report.open === undefined ? [] : ['what the open rows lack'])];
    if (left.length > 0)
      lines.push(`To ask again for ${left.join(' and ')}, and for nothing else: millrace retry, with the same job and flags.`);
  }
  return lines.join('\n');
}

/** With one decimal, so that numbers in a column are alike. */
function inPercent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function rate(name: string, share: number | null, note: string): [string, string, string][] {
  return share === null ? [] : [[name, inPercent(share), note]];
}

/** Lookups that cost nothing, because another row or an earlier run has paid for them. */
function saved({ lookups: { fromLedger }, duplicateLookups: duplicates }: Report): string {
  const parts = [
    ...(duplicates > 0 ? [`${count(duplicates)} more saved by duplicates`] : []),
    ...(fromLedger > 0 ? [`${count(fromLedger)} paid for before`] : []),
  ];
  return parts.join(', ');
}

function speed({ recordsPerSecond }: Report): string {
  return recordsPerSecond === null ? '' : `${count(Math.round(recordsPerSecond))} records a second`;
}

/** The most frequent error codes, such as `enrich:http_500 30, verify:timeout 2`. */
function leadingErrors({ errors }: Report): string {
  return Object.entries(errors)
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, MOST_ERRORS)
    .map(([name, n]) => `${printable(name)} ${count(n)}`)
    .join(', ');
}

function creditsNote({ creditsAtLeast, cost }: Report): string {
  const open = creditsAtLeast === undefined ? [] : ['at least: some answers are still to come, or were lost'];
  return [...open, ...(cost === undefined ? [] : [`about ${moneyText(cost)}`])].join('; ');
}
