/** The sections that are tables of counts: outcomes, verdicts, errors, cost. HTML; pure. */
import { table } from '../../../util/html.ts';
import { moneyText } from '../../../definition/credit-price.ts';
import { count, duration } from '../../../util/display.ts';
import type { PageData } from './page-data.ts';
import { codeElement, linkBeside, named, share } from './words.ts';

const OUTCOMES = [
  ['matched', 'found'],
  ['no_match', 'nothing found'],
  ['invalid', 'nothing to look up, or not readable'],
  ['suppressed', 'asked to be removed'],
  ['failed', 'gave up after retries, or refused'],
  ['skipped', 'left out by input.where'],
] as const;

export function numbers(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `<div class="numbers">${table(head, rows)}</div>`;
}

export function legendKey(name: string): string {
  return `<svg class="key" viewBox="0 0 1 1" aria-hidden="true"><rect class="${name}" width="1" height="1"/></svg>`;
}

export function outcomes({ report: { records } }: PageData): string {
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
  const rows = counted.map(({ name, meaning, n }) => [`${legendKey(name)} ${codeElement(name)} ${meaning}`, count(n), share(n, total)]);
  return `${chart}${numbers(['Outcome', 'Records', `Share of ${count(total)} records`], [...rows, ['All', count(total), '']])}`;
}

export function verdicts({ report: { verification, records } }: PageData): string {
  const all = sumOf(verification);
  if (all === 0) return '<p>No address was verified.</p>';
  return numbers(
    ['Verdict', 'Records', `Share of ${count(records.total)} records`],
    inOrder(verification).map(([name, n]) => [codeElement(name), count(n), share(n, records.total)]),
  );
}

export function errors({ report: { records, output }, errors: counted }: PageData): string {
  const all = records.failed + records.invalid;
  if (all === 0) return '<p>None: no record failed, and none is invalid.</p>';
  const rows = inOrder(counted).map(([name, n]) => {
    const colon = name.indexOf(':');
    const [step, what] = colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)];
    return [`${named(step)} ${codeElement(what)}`, count(n), share(n, records.total)];
  });
  const unknown = all - sumOf(counted);
  const note =
    unknown > 0 ? `<p class="note">Of ${count(unknown)} more the code is not counted: an earlier version of Millrace wrote them.</p>` : '';
  return (
    `<p>Failed and invalid records by step and code (${codeElement('input')}: nothing was asked for the record). ` +
    `${linkBeside(`${output.uri}.errors.jsonl`)} has each of them, with its line.</p>` +
    `${numbers(['Step and code', 'Records', `Share of ${count(records.total)} records`], rows)}${note}`
  );
}

export function costTable({ report: { credits, cost, calls, lookups, retries, throttled, verifyRequests } }: PageData): string {
  const rows = [
    ['Credits, as the service says', cost === undefined ? count(credits) : `${count(credits)}, about ${moneyText(cost)}`],
    ['Requests', count(sumOf(calls))],
    ...Object.entries(calls).map(([step, n]) => [`of them ${codeElement(step)}`, count(n)]),
    ['Different lookups', count(lookups.unique)],
    ['of them answered by the ledger, not paid again', count(lookups.fromLedger)],
    ['Retries', count(retries)],
    ['Times the service said "later"', count(throttled.events)],
    ...(throttled.events > 0 ? [['waited for that', duration(throttled.waitedMs)]] : []),
    ...(verifyRequests === undefined
      ? []
      : [
          ['Verify requests that ran into the time limit or were too large', count(verifyRequests.tooLarge)],
          ['addresses in a verify request at the end', count(verifyRequests.addresses)],
        ]),
  ];
  return numbers(['What', 'Over all runs of the job'], rows);
}

export function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

/** The highest count first, then by name; without zeros. */
function inOrder(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts)
    .filter(([, n]) => n > 0)
    .sort(([name, n], [otherName, other]) => other - n || (name < otherName ? -1 : 1));
}
