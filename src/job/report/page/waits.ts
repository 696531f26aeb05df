/** The section of the waits during which the job sent nothing. HTML. Pure. */
import { folded } from '../../../util/html.ts';
import type { WaitReason } from '../../../util/waits.ts';
import { count, duration } from '../../../util/display.ts';
import type { PageData } from './page-data.ts';
import { inline, numbers, texts } from './tables.ts';
import { moment, named } from './words.ts';

export function waitsSection({
  report: {
    waits: { count: all, ms, reasons, list },
  },
}: PageData): string {
  if (all === 0) return '<p>The job never went five seconds without sending a request.</p>';
  const said =
    `<p>${inline('waits.count', count(all))} ${all === 1 ? 'wait' : 'waits'} of five seconds or more without a request, ` +
    `${duration(ms)} together.</p>`;
  const sums = (Object.entries(reasons) as [WaitReason, number][]).sort(([, one], [, other]) => other - one);
  const table = numbers(
    ['Waited for', 'Time'],
    sums.map(([reason, sum]) => [named(reason), duration(sum)]),
  );
  const more = all > list.length ? `<p class="note">The ${count(list.length)} longest of them:</p>` : '';
  return `${said}${table}${folded(
    'Each wait',
    `${more}${texts(
      ['Since (UTC)', 'For', 'Waited for'],
      list.map((wait) => [moment(Date.parse(wait.at)), duration(wait.ms), named(`${wait.what} (${wait.reason})`)]),
    )}`,
  )}`;
}
