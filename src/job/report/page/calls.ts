/** The section of the slowest lookups, and of those that were sent most often. HTML. Pure. */
import { folded } from '../../../util/html.ts';
import { count } from '../../../util/display.ts';
import type { ReportedCall } from '../report-parts.ts';
import type { PageData } from './page-data.ts';
import { figure, texts } from './tables.ts';
import { codeElement, milliseconds, named } from './words.ts';

/** Lists up to this length are shown at once. */
const SHORT = 5;

export function notableCalls({ report: { slowest, mostRetried } }: PageData): string {
  if (slowest.length === 0) return '<p>No lookup was sent.</p>';
  const retried =
    mostRetried.length === 0
      ? '<p>Every lookup was sent once.</p>'
      : listed('Sent most often', 'mostRetried', mostRetried, ({ sent }) => `${count(sent)} times`);
  return (
    `<p>By file and line of the input. A verify request asks for many addresses: its line is that of the first one.</p>` +
    `${listed('Slowest', 'slowest', slowest, ({ latencyMs }) => milliseconds(latencyMs))}${retried}`
  );
}

function listed(title: string, of: string, calls: readonly ReportedCall[], value: (call: ReportedCall) => string): string {
  const [key, other] = of === 'slowest' ? ['latencyMs', 'Sent'] : ['sent', 'Slowest attempt'];
  const rows = calls.map((call, i) => [
    figure(`${of}.${i}.${key}`, value(call)),
    `${call.file === null ? '' : `${codeElement(call.file)} `}line ${inLine(call)}`,
    `${codeElement(call.step)}${call.keys > 1 ? `, ${count(call.keys)} addresses` : ''}`,
    of === 'slowest' ? (call.sent === 1 ? 'once' : `${count(call.sent)} times`) : milliseconds(call.latencyMs),
    call.code === null ? 'answered' : codeElement(call.code),
    call.requestId === null ? '' : named(call.requestId),
  ]);
  const head = [title, 'Record', 'Step', other, 'Last attempt', 'Request ID'];
  const first = texts(head, rows.slice(0, SHORT), title.toLowerCase());
  return rows.length <= SHORT ? first : `${first}${folded(`All ${rows.length}`, texts(head, rows, `${title.toLowerCase()}, all`))}`;
}

function inLine({ line }: ReportedCall): string {
  return count(line);
}
