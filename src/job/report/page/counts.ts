/** The sections that are tables of counts: outcomes, verdicts, cost. HTML. Pure. */
import type { PauseCause } from '../../../limiter/limiter.ts';
import { moneyText } from '../../../definition/credit-price.ts';
import { count, duration } from '../../../util/display.ts';
import type { Report } from '../report.ts';
import type { PageData } from './page-data.ts';
import { figure, inline, numbers } from './tables.ts';
import { codeElement, points, share } from './words.ts';

const OUTCOMES = [
  ['matched', 'found'],
  ['no_match', 'nothing found'],
  ['invalid', 'nothing to look up, or not readable'],
  ['suppressed', 'asked to be removed'],
  ['failed', 'gave up after retries, or refused'],
  ['skipped', 'left out by input.where or when'],
] as const;

export function legendKey(name: string): string {
  return `<svg class="key" viewBox="0 0 1 1" aria-hidden="true"><rect class="${name}" width="1" height="1"/></svg>`;
}

export function outcomes({ report }: PageData): string {
  const { records, previous } = report;
  const { total } = records;
  const counted = OUTCOMES.flatMap(([name, meaning]) => (records[name] === undefined ? [] : [{ name, meaning, n: records[name] }]));
  let at = 0;
  const parts = counted.map(({ name, n }) => {
    const width = total === 0 ? 0 : (n / total) * 100;
    at += width;
    return `<rect class="${name}" x="${(at - width).toFixed(2)}" width="${width.toFixed(2)}" height="1"/>`;
  });
  const said = counted
    .filter(({ n }) => n > 0)
    .map(({ name, n }) => `${name} ${share(n, total)}`)
    .join(', ');
  const chart =
    total === 0
      ? '<p>The input has no records.</p>'
      : '<svg class="stack" viewBox="0 0 100 1" preserveAspectRatio="none" ' +
        `role="img" aria-label="Records by outcome: ${said}">${parts.join('')}</svg>`;
  const rows = counted.map(({ name, meaning, n }) => [
    `${legendKey(name)} ${codeElement(name)} ${meaning}`,
    figure(`records.${name}`, count(n)),
    share(n, total),
    ...comparedCells(report, n, previous?.records[name] ?? 0),
  ]);
  const last = previous === null ? [] : [figure('previous.records.total', count(previous.records.total)), ''];
  return `${chart}${numbers(
    ['Outcome', 'Records', 'Share', ...comparedHead(report)],
    [...rows, ['All', figure('records.total', count(total)), '', ...last]],
  )}${openRows(report)}`;
}

function openRows({ open, records: { total } }: Report): string {
  if (open === undefined) return '';
  return `<p>Open: ${inline('open', count(open))} rows (${share(open, total)}) lack a field, because a provider was skipped or failed.</p>`;
}

export function verdicts({ report }: PageData): string {
  const { verification, records, previous } = report;
  const before = previous?.verification ?? {};
  if (sumOf(verification) === 0 && sumOf(before) === 0) return '<p>No address was verified.</p>';
  const gone = inOrder(before).filter(([name]) => countOf(verification, name) === 0);
  const names = [...inOrder(verification), ...gone.map(([name]): [string, number] => [name, 0])];
  const rows = names.map(([name, n]) => [
    codeElement(name),
    figure(`verification.${name}`, count(n)),
    share(n, records.total),
    ...comparedCells(report, n, countOf(before, name)),
  ]);
  const table = numbers(['Verdict', 'Records', 'Share', ...comparedHead(report)], rows);
  return `<p class="note">The shares are of all ${count(records.total)} records.</p>${table}`;
}

function comparedHead({ previous }: Report): string[] {
  return previous === null ? [] : ['Last run', 'Change, points'];
}

/** The number of the last run, and how the share has changed since. */
function comparedCells({ previous, records }: Report, n: number, before: number): string[] {
  if (previous === null) return [];
  const { total } = previous.records;
  return [count(before), total === 0 || records.total === 0 ? '' : points(n / records.total - before / total)];
}

/** Why a pause was as long as it was. */
const CAUSES: Readonly<Record<PauseCause, string>> = {
  retry_after: 'as long as <code>Retry-After</code> said',
  used_up: 'until the reset of a quota that was used up',
  unstated: 'where the service did not say for how long',
};

export function costTable({ report }: PageData): string {
  const { credits, creditsAtLeast, cost, calls, lookups, duplicateLookups, retries, throttled, verifyRequests, previous } = report;
  const rows = [
    ['Credits, as the service says', figure('credits', count(credits))],
    ...(creditsAtLeast === undefined
      ? []
      : [
          [
            'at least, because some answers are still to come, did not arrive or cannot be read',
            figure('creditsAtLeast', count(creditsAtLeast)),
          ],
        ]),
    ...(cost === undefined ? [] : [['in money, about', figure('cost.amount', moneyText(cost))]]),
    ...(previous === null ? [] : [['Credits of the last run', figure('previous.credits', count(previous.credits))]]),
    ['Requests', count(sumOf(calls))],
    ...Object.entries(calls).map(([step, n]) => [`of them ${codeElement(step)}`, figure(`calls.${step}`, count(n))]),
    ['Different lookups', figure('lookups.unique', count(lookups.unique))],
    ['of them answered by the ledger, not paid again', figure('lookups.fromLedger', count(lookups.fromLedger))],
    ['Lookups saved by duplicates', figure('duplicateLookups', count(duplicateLookups))],
    ['Retries', figure('retries', count(retries))],
    ['Times the service said "later"', figure('throttled.events', count(throttled.events))],
    ...(throttled.events > 0 ? [['waited for that', duration(throttled.waitedMs)]] : []),
    ...Object.entries(throttled.causes ?? {}).map(([cause, n]) => [
      `of them ${CAUSES[cause as PauseCause]}`,
      figure(`throttled.causes.${cause}`, count(n)),
    ]),
    ...(verifyRequests === undefined
      ? []
      : [
          [
            'Verify requests that ran into the time limit or were too large',
            figure('verifyRequests.tooLarge', count(verifyRequests.tooLarge)),
          ],
          ['addresses in a verify request at the end', figure('verifyRequests.addresses', count(verifyRequests.addresses))],
        ]),
  ];
  return numbers(['What', 'Over all runs of the job'], rows);
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

/** The highest count first, then by name; without zeros. */
export function inOrder(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts)
    .filter(([, n]) => n > 0)
    .sort(([name, n], [otherName, other]) => other - n || (name < otherName ? -1 : 1));
}

/** A name may be `constructor`. */
function countOf(counts: Readonly<Record<string, number>>, name: string): number {
  return Object.hasOwn(counts, name) ? (counts[name] ?? 0) : 0;
}
