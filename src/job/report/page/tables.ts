/** Tables of the report's page, and the marks by which a program finds a figure of `report.json` on it. HTML. Pure. */
import { named } from './words.ts';

/** A cell that shows a figure of the report. */
export interface Figure {
  /** Its path in `report.json`, such as `records.matched`. */
  readonly of: string;
  readonly html: string;
}

type Cell = string | Figure;

/** From this many columns on, a table is wider than a phone. It scrolls by itself, also by keyboard. */
const WIDE = 4;

export function figure(of: string, html: string): Figure {
  return { of, html };
}

/** A figure within a sentence. */
export function inline(of: string, html: string): string {
  return `<span data-of="${named(of)}">${html}</span>`;
}

/** A table whose cells are HTML. Empty when it has no rows. @param name for readers who do not see it; the head is used without one */
export function numbers(head: readonly string[], rows: readonly (readonly Cell[])[], name = head[0] ?? ''): string {
  return rows.length === 0 ? '' : tableOf('numbers', head, rows, name);
}

/** A table of texts, whose columns are not aligned as numbers. */
export function texts(head: readonly string[], rows: readonly (readonly Cell[])[], name = head[0] ?? ''): string {
  return rows.length === 0 ? '' : tableOf('texts', head, rows, name);
}

function tableOf(kind: string, head: readonly string[], rows: readonly (readonly Cell[])[], name: string): string {
  const scrolls = head.length >= WIDE ? ` tabindex="0" role="region" aria-label="Table: ${name}"` : '';
  const cell = (one: Cell): string => (typeof one === 'string' ? `<td>${one}</td>` : `<td data-of="${named(one.of)}">${one.html}</td>`);
  return (
    `<div class="wide ${kind}"${scrolls}><table><thead><tr>${head.map((one) => `<th scope="col">${one}</th>`).join('')}</tr></thead>` +
    `<tbody>${rows.map((row) => `<tr>${row.map(cell).join('')}</tr>`).join('\n')}</tbody></table></div>`
  );
}
