/** The section of failed and invalid records, each code with what to do. HTML. Pure. */
import { prose } from '../../../util/html.ts';
import { count } from '../../../util/display.ts';
import { explainRecordError } from '../record-errors.ts';
import { inOrder, sumOf } from './counts.ts';
import { sideFilePath } from '../../../definition/output-shape.ts';
import type { PageData } from './page-data.ts';
import { figure, texts } from './tables.ts';
import { codeElement, linkBeside, named } from './words.ts';

export function errors({ report: { records, output, errors: counted } }: PageData): string {
  const all = records.failed + records.invalid;
  if (all === 0) return '<p>None: no record failed, and none is invalid.</p>';
  const rows = inOrder(counted).map(([name, n]) => {
    const colon = name.indexOf(':');
    const [step, code] = colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)];
    const { what, next } = explainRecordError(code);
    return [`${named(step)} ${codeElement(code)}`, figure(`errors.${name}`, count(n)), `${sentence(what)}<br>${sentence(next)}`];
  });
  const unknown = all - sumOf(counted);
  const note =
    unknown > 0 ? `<p class="note">Of ${count(unknown)} more the code is not counted: an earlier version of Millrace wrote them.</p>` : '';
  return (
    `<p>Failed and invalid records by step and code (${codeElement('input')}: nothing was asked for the record). ` +
    `${linkBeside(sideFilePath(output.uri, 'errors'))} has each of them, with its line.</p>` +
    `${texts(['Step and code', 'Records', 'What happened, and what to do'], rows)}${note}`
  );
}

function sentence(text: string): string {
  return prose(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`);
}
