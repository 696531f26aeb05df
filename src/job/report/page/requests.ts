/** Requests over time beside what the plan permitted: a chart and its table. HTML; pure. */
import { folded } from '../../../util/html.ts';
import { joinSlots, type CallSlot, type CallTimeline } from '../../../checkpoint/call-slots.ts';
import { count, duration } from '../../../util/display.ts';
import { legendKey, numbers, sumOf } from './counts.ts';
import type { PageData } from './page-data.ts';
import { moment } from './words.ts';

/** Rows of the table at most, gaps not counted. */
const MOST_ROWS = 48;
/** A full quota is spent at once. A bar is cut at this many times the plan, so that the other bars stay visible. */
const MOST_OVER_PLAN = 3;
const HEIGHT = 100;

export function requests({ report: { quota, calls }, series }: PageData): string {
  const all = sumOf(calls);
  const charted = series.slots.reduce((sum, slot) => sum + slot.calls, 0);
  const used =
    quota.usedShare === null
      ? ''
      : ` ${quota.usedShare === 1 ? 'All' : `${(quota.usedShare * 100).toFixed(1)} %`}` +
        ' of what the service offered while the job ran was used.';
  const plan = quota.rpm === null ? 'The plan is unlimited.' : `The plan permits ${count(quota.rpm)} a minute.${used}`;
  const missing =
    all > charted
      ? `<p class="note">${count(all - charted)} of them are not below: an ` +
        'earlier version of Millrace sent them, and did not keep when.</p>'
      : '';
  return `<p>${count(all)} requests. ${plan}</p>${charted === 0 ? '' : chart(series)}${missing}`;
}

function chart(series: CallTimeline): string {
  const { widthMs, slots } = series;
  const tallest = Math.max(...slots.map(({ calls }) => calls));
  const permitted = Math.max(...slots.map(({ permitted }) => permitted));
  const top = Math.max(1, permitted, permitted > 0 ? Math.min(tallest, permitted * MOST_OVER_PLAN) : tallest);
  const height = (n: number): number => (Math.min(n, top) / top) * HEIGHT;
  const bar = (x: number, width: number, tall: number): string =>
    `M${x.toFixed(2)} ${HEIGHT}v${(-tall).toFixed(1)}h${width.toFixed(2)}V${HEIGHT}z`;
  const over = (ms: number): number => Math.min(1, ms / widthMs);
  const [first, last] = [slots[0], slots.at(-1)];
  const paths: readonly (readonly [name: string, d: string])[] = [
    ['later', each(slots, ({ throttledMs }, x) => (throttledMs > 0 ? bar(x, over(throttledMs), HEIGHT) : ''))],
    ['down', each(slots, ({ downMs }, x) => (downMs > 0 ? bar(x, over(downMs), HEIGHT) : ''))],
    ['bar', each(slots, ({ calls }, x) => (calls > 0 ? bar(x + 0.1, 0.8, height(calls)) : ''))],
    ['cut', each(slots, ({ calls }, x) => (calls > top ? `M${x} 6L${x + 0.5} 0L${x + 1} 6z` : ''))],
    ['plan', each(slots, ({ permitted }, x) => (permitted > 0 ? `M${x} ${(HEIGHT - height(permitted)).toFixed(1)}h1` : ''))],
    ['gap', each(slots, (slot, x) => (gapBefore(series, x) > 0 && slot !== first ? `M${x} 0V${HEIGHT}` : ''))],
  ];
  const drawn = paths.filter(([, d]) => d !== '');
  const legend: Readonly<Record<string, string>> = {
    later: 'the service said "later"',
    down: 'the service was down',
    bar: 'requests sent',
    cut: `more than fits (the most: ${count(tallest)})`,
  };
  const keys = drawn.flatMap(([name]) => (legend[name] === undefined ? [] : [`${legendKey(name)} ${legend[name]}`]));
  if (permitted > 0) keys.push('dashed: what the plan permitted');
  if (drawn.some(([name]) => name === 'gap')) keys.push('dotted: nothing ran in between');
  const slot = duration(widthMs);
  return `<figure>
<div class="axis"><span>${count(Math.round(top))} in ${slot}</span></div>
<svg class="chart" viewBox="0 0 ${slots.length} ${HEIGHT}" preserveAspectRatio="none"
  role="img" aria-label="Requests sent in each ${slot}, beside what the plan permitted; the table below has the numbers">
  ${drawn.map(([name, d]) => `<path class="${name}" d="${d}"/>`).join('')}</svg>
<div class="axis"><span>${startOf(first, widthMs)}</span><span>${startOf(last, widthMs)} UTC</span></div>
<figcaption>Each bar is ${slot}. ${keys.join('; ')}.</figcaption>
${folded('The same as a table', slotTable(joinSlots([series], MOST_ROWS)))}
</figure>`;
}

function each(slots: readonly CallSlot[], draw: (slot: CallSlot, x: number) => string): string {
  return slots.map(draw).join('');
}

function startOf(slot: CallSlot | undefined, widthMs: number): string {
  return slot === undefined ? '' : moment(slot.number * widthMs);
}

/** How long nothing ran before a slot, milliseconds, to within two slots. */
function gapBefore({ widthMs, slots }: CallTimeline, index: number): number {
  const [before, slot] = [slots[index - 1], slots[index]];
  return before === undefined || slot === undefined ? 0 : (slot.number - before.number - 1) * widthMs;
}

function slotTable(series: CallTimeline): string {
  const waited = (ms: number): string => (ms > 0 ? duration(ms) : '');
  const rows = series.slots.flatMap((slot, index) => {
    const gap = gapBefore(series, index);
    const row = [
      startOf(slot, series.widthMs),
      count(slot.calls),
      slot.permitted > 0 ? count(Math.round(slot.permitted)) : 'unlimited',
      waited(slot.throttledMs),
      waited(slot.downMs),
    ];
    return gap > 0 ? [[`nothing ran for about ${duration(gap)}`, '', '', '', ''], row] : [row];
  });
  return numbers([`UTC, each ${duration(series.widthMs)}`, 'Requests', 'Plan permitted', 'Waited, "later"', 'Service down'], rows);
}
