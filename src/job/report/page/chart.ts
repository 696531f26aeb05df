/** A bar chart with axes. The values of a bar are shown where it is pointed at or focused, without a script. HTML. Pure. */
import { count } from '../../../util/display.ts';

/** Height of the drawing in its own units: 0 is the top. Marks below the axis lie between `HEIGHT` and `FLOOR`. */
export const HEIGHT = 100;
const FLOOR = 106;

interface Chart {
  /** For links within the page. */
  readonly id: string;
  /** For readers who do not see it. */
  readonly label: string;
  /** The vertical axis: its unit, and its highest value. */
  readonly unit: string;
  readonly top: number;
  /** Labels of the horizontal axis, from left to right. */
  readonly axis: readonly string[];
  /** Paths in front of each other: a class of the style, and the path. A bar is one unit wide. */
  readonly layers: readonly (readonly [name: string, d: string])[];
  /** The values of each bar, in at most three short lines. */
  readonly bars: readonly (readonly string[])[];
}

/** The least round number that is not less than `n`, whose half is round too. */
export function roundTop(n: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, n)));
  return ([1, 2, 4, 6, 8].find((digit) => digit * power >= n) ?? 10) * power;
}

/** @param top the value at the upper end of the axis; higher ones are cut */
export function heightOf(n: number, top: number): number {
  return (Math.min(n, top) / top) * HEIGHT;
}

/** A path of a rectangle that stands on the axis. */
export function bar(x: number, width: number, tall: number): string {
  return `M${x.toFixed(2)} ${HEIGHT}v${(-tall).toFixed(1)}h${width.toFixed(2)}V${HEIGHT}z`;
}

/** A path of a mark below the axis. */
export function markBelow(x: number, width: number): string {
  return `M${x.toFixed(2)} ${HEIGHT + 2}h${width.toFixed(2)}V${FLOOR}h${(-width).toFixed(2)}z`;
}

/** Empty without a bar. */
export function chart({ id, label, unit, top, axis, layers, bars }: Chart): string {
  if (bars.length === 0) return '';
  const percent = (n: number): string => `${((n / bars.length) * 100).toFixed(2)}%`;
  const width = percent(1);
  const halves = top > 1 ? [top, top / 2, 0] : [top, 0];
  const drawn = layers.filter(([, d]) => d !== '').map(([name, d]) => `<path class="${name}" d="${d}"/>`);
  const grid = halves.map((n) => `M0 ${HEIGHT - heightOf(n, top)}h${bars.length}`).join('');
  return `<a class="skip" href="#${id}">Skip the values of ${bars.length} bars</a>
<div class="axis"><span>${unit}</span></div>
<div class="plot">
<div class="ticks">${halves.map((n) => `<span>${count(n)}</span>`).join('')}</div>
<svg class="chart" role="group" aria-label="${label}">
<svg viewBox="0 0 ${bars.length} ${FLOOR}" preserveAspectRatio="none" width="100%" height="100%">
<path class="grid" d="${grid}"/>${drawn.join('')}</svg>
${bars.map((lines, i) => oneBar(percent(i), width, lines)).join('\n')}
</svg>
<div class="axis under">${axis.map((text) => `<span>${text}</span>`).join('')}</div>
</div>`;
}

/** The area of a bar, which shows its values above the chart. */
function oneBar(x: string, width: string, lines: readonly string[]): string {
  const shown = lines.map((line, i) => `<tspan x="0" y="${(-3.6 + i * 1.2).toFixed(1)}em">${line}</tspan>`).join('');
  return (
    `<g class="value" tabindex="0" role="img"><title>${lines.join('; ')}</title>` +
    `<rect x="${x}" width="${width}" height="100%"/><text aria-hidden="true">${shown}</text></g>`
  );
}
