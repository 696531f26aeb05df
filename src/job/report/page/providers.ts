/** The section of the providers that a job names: who brought what at which price. HTML. Pure. */
import { moneyText } from '../../../definition/credit-price.ts';
import { count } from '../../../util/display.ts';
import { inAskedOrder, type ProviderStep, type ReportedProvider } from '../provider-figures.ts';
import type { PageData } from './page-data.ts';
import { figure, inline, numbers, type Figure } from './tables.ts';
import { codeElement, share, shown } from './words.ts';

const HEAD = [
  'Step, and provider in the order asked',
  'Asked',
  'Matched',
  'Share',
  'First',
  'Rows with its data',
  'Fields',
  'Failed',
  'Unavailable',
  'Requests',
  'Credits',
  'Cost',
  'A row',
];

/** Null for a job with one service. */
export function providersSection({ report: { providers, steps } }: PageData): string | null {
  if (providers === undefined) return null;
  const rows = inAskedOrder(providers, steps).map(({ step, name, provider, figures }) => {
    const at = `providers.${name}`;
    return [
      `${codeElement(step)} ${codeElement(name)}`,
      ...stepCells(`${at}.steps.${step}`, figures),
      figure(`${at}.calls.${step}`, count(provider.calls[step] ?? 0)),
      ...priceCells(`${at}.steps.${step}`, figures),
    ];
  });
  const skipped = Object.entries(providers).flatMap(([name, provider]) =>
    provider.skipped === null ? [] : [gone(name, provider.skipped)],
  );
  return (
    `${skipped.join('\n')}${numbers(HEAD, rows, 'who brought what')}${Object.entries(providers).map(atLeast).join('')}` +
    '<p class="note">First: rows of which nothing was known before. Unavailable: not sent, because the run went on without the provider. ' +
    'A row: the cost of each row that has data from the provider.</p>'
  );
}

function atLeast([name, { creditsAtLeast }]: [string, ReportedProvider]): string {
  if (creditsAtLeast === undefined) return '';
  const figures = inline(`providers.${name}.creditsAtLeast`, count(creditsAtLeast));
  return `<p class="note">${codeElement(name)} has charged at least ${figures} credits: some answers are still to come, or were lost.</p>`;
}

function gone(name: string, why: string): string {
  return (
    `<p>The latest run went on without ${codeElement(name)}: ${shown(why)}. Once it can be asked again, ${codeElement('millrace retry')} ` +
    `asks it for the records that failed, and a run with ${codeElement('--fresh')} for all others too: nothing is paid twice.</p>`
  );
}

function stepCells(at: string, { asked, matched, missed, first, rows, fields, failed, unavailable }: ProviderStep): (string | Figure)[] {
  return [
    figure(`${at}.asked`, count(asked)),
    figure(`${at}.matched`, count(matched)),
    matched + missed === 0 ? '' : figure(`${at}.matchRate`, share(matched, matched + missed)),
    figure(`${at}.first`, count(first)),
    figure(`${at}.rows`, count(rows)),
    figure(`${at}.fields`, count(fields)),
    figure(`${at}.failed`, count(failed)),
    figure(`${at}.unavailable`, count(unavailable)),
  ];
}

function priceCells(at: string, { credits, cost, creditsPerRow, costPerRow }: ProviderStep): (string | Figure)[] {
  const each =
    costPerRow !== undefined && costPerRow !== null
      ? figure(`${at}.costPerRow.amount`, `${small(costPerRow.amount)} ${costPerRow.currency}`)
      : creditsPerRow === null
        ? ''
        : figure(`${at}.creditsPerRow`, `${small(creditsPerRow)} credits`);
  return [figure(`${at}.credits`, count(credits)), cost === undefined ? '' : figure(`${at}.cost.amount`, moneyText(cost)), each];
}

/** The price of a row is often below a cent. */
function small(n: number): string {
  return n.toLocaleString('en-US', { maximumFractionDigits: 4 });
}
