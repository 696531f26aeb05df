/** A terminal's screen as a page, to take a picture of. */
import type { Cell } from '../../test/support/screen.ts';
import { escape } from '../../src/util/html.ts';

/** By SGR code. `light-dark` follows the colour scheme of the browser. */
const COLOURS: Readonly<Record<string, string>> = {
  '31': 'light-dark(#b42318, #ff7b72)',
  '32': 'light-dark(#117a37, #56d364)',
  '33': 'light-dark(#8a5a00, #e3b341)',
};
const WEIGHTS: Readonly<Record<string, string>> = { '1': 'font-weight: 700', '2': 'opacity: 0.6' };

/** @param command is shown above the screen, as it was typed */
export function terminalPage(command: string, cells: readonly (readonly Cell[])[], columns: number): string {
  const lines = cells.map((line) => line.map(cellHtml).join(''));
  return `<!doctype html>
<meta charset="utf-8">
<style>
:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(#fff, #0d1117); color: light-dark(#1f2328, #e6edf3); }
pre { margin: 0; padding: 14px 18px; font: 13px/1.35 'DejaVu Sans Mono', monospace; width: ${columns}ch; }
</style>
<pre><b>$ ${escape(command)}</b>
${lines.join('\n')}</pre>
`;
}

function cellHtml({ character, style }: Cell): string {
  const text = escape(character);
  if (style === '') return text;
  const rules = style.split(';').map((code) => WEIGHTS[code] ?? `color: ${COLOURS[code] ?? 'inherit'}`);
  return `<span style="${rules.join('; ')}">${text}</span>`;
}
