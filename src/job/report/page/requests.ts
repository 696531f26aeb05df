/** Requests over time beside those that the plan permitted: a chart, its marks in words, and its table. HTML. Pure. */
import { folded } from '../../../util/html.ts';
import { count, duration } from '../../../util/display.ts';
import type { Report } from '../report.ts';
import type { Timeline, TimelineSlot } from '../report-parts.ts';
import { bar, chart, heightOf, HEIGHT, markBelow, roundTop } from './chart.ts';
import { legendKey, sumOf } from './counts.ts';
import type { PageData } from './page-data.ts';
import { figure, inline, numbers } from './tables.ts';
import { moment } from './words.ts';

/** A full quota is spent at once. A bar is cut at this many times the plan, so that the other bars stay visible. */
const MOST_OVER_PLAN = 3;

export function requests({ report }: PageData): string {
  const { quota, calls, timeline } = report;
  const all = sumOf(calls);
  const charted = timeline.slots.reduce((sum, slot) => sum + slot.requests, 0);
  const share = quota.usedShare === 1 ? 'All' : `${((quota.usedShare ?? 0) * 100).toFixed(1)} %`;
  const used =
    quota.usedShare === null ? '' : ` ${inline('quota.usedShare', share)} of what the service offered while the job ran was used.`;
  const unlimited = report.providers === undefined ? 'The plan is unlimited.' : 'Each provider has its own quota.';
  const plan = quota.rpm === null ? unlimited : `The plan permits ${inline('quota.rpm', count(quota.rpm))} a minute.${used}`;
  const missing =
    all > charted
      ? `<p class="note">${count(all - charted)} of them are not below: an ` +
        'earlier version of Millrace sent them, and did not keep when.</p>'
      : '';
  return `<p>${count(all)} requests. ${plan}</p>${charted === 0 ? '' : drawing(report)}${missing}`;
}

function drawing(report: Report): string {
  const { timeline } = report;
  const { slotMs, slots } = timeline;
  const tallest = Math.max(...slots.map((slot) => slot.requests));
  const permitted = Math.max(...slots.map((slot) => slot.permitted ?? 0));
  const top = roundTop(Math.max(1, permitted, permitted > 0 ? Math.min(tallest, permitted * MOST_OVER_PLAN) : tallest));
  const over = (ms: number): number => Math.min(1, ms / slotMs);
  const each = (draw: (slot: TimelineSlot, x: number) => string): string => slots.map(draw).join('');
  const layers: readonly (readonly [name: string, d: string])[] = [
    ['later', each(({ throttledMs }, x) => (throttledMs > 0 ? bar(x, over(throttledMs), HEIGHT) : ''))],
    ['down', each(({ downMs }, x) => (downMs > 0 ? bar(x, over(downMs), HEIGHT) : ''))],
    ['bar', each((slot, x) => (slot.requests > 0 ? bar(x + 0.1, 0.8, heightOf(slot.requests, top)) : ''))],
    ['cut', each((slot, x) => (slot.requests > top ? `M${x} 6L${x + 0.5} 0L${x + 1} 6z` : ''))],
    ['plan', each((slot, x) => (slot.permitted === null ? '' : `M${x} ${(HEIGHT - heightOf(slot.permitted, top)).toFixed(1)}h1`))],
    ['gap', each((_, x) => (gapBefore(timeline, x) > 0 ? `M${x} 0V${HEIGHT}` : ''))],
    ['wait', each(({ waitedMs }, x) => (waitedMs > 0 ? markBelow(x, over(waitedMs)) : ''))],
  ];
  const drawn = new Set(layers.filter(([, d]) => d !== '').map(([name]) => name));
  const slot = duration(slotMs);
  const middle = slots[Math.floor(slots.length / 2)];
  const ends = [slots[0], ...(slots.length > 2 ? [middle] : []), slots.at(-1)];
  return `<figure>
${chart({
  id: 'requests-legend',
  label: `Requests sent in each ${slot}, beside those that the plan permitted; the table below has the numbers`,
  unit: `requests in ${slot}`,
  top,
  axis: ends.map((one) => (one === undefined ? '' : `${startOf(one)} UTC`)),
  layers,
  bars: slots.map((one) => said(one, slot)),
})}
<figcaption id="requests-legend">Each bar is ${slot}. Point at a bar, or step through the bars with the Tab key, for its values.
<ul class="legend">${marks(report, drawn, tallest)
    .map((one) => `<li>${one}</li>`)
    .join('')}</ul></figcaption>
${folded('The same as a table', slotTable(timeline, report.providers === undefined ? 'unlimited' : '-'))}
</figure>`;
}

/** The marks of the chart, each with its meaning. */
function marks({ throttled, timeline, waits }: Report, drawn: ReadonlySet<string>, tallest: number): string[] {
  const sum = (of: (slot: TimelineSlot) => number): string => duration(timeline.slots.reduce((all, slot) => all + of(slot), 0));
  const legend: readonly (readonly [name: string, words: string])[] = [
    ['bar', 'requests that were sent'],
    ['cut', `more than fits (the most: ${count(tallest)})`],
    ['plan', 'dashed: the number that the plan permitted'],
    [
      'later',
      `the service said "later" (429, or <code>Retry-After</code>), ${count(throttled.events)} ` +
        `${throttled.events === 1 ? 'time' : 'times'}: the job sent nothing until then, ${sum(({ throttledMs }) => throttledMs)} together`,
    ],
    [
      'down',
      `the service was down, ${sum(({ downMs }) => downMs)} together: the job sent a probe from time to time, and no record failed for it`,
    ],
    ['wait', `below the axis: nothing was sent for five seconds or more, ${duration(waits.ms)} together, for the reasons under Waits`],
    ['gap', 'dotted: nothing ran in between'],
  ];
  return legend.flatMap(([name, words]) => (drawn.has(name) ? [`${legendKey(name)} ${words}`] : []));
}

/** The values of a bar. */
function said(slot: TimelineSlot, width: string): string[] {
  const held = [
    ...(slot.throttledMs > 0 ? [`"later" for ${duration(slot.throttledMs)}`] : []),
    ...(slot.downMs > 0 ? [`down for ${duration(slot.downMs)}`] : []),
    ...(slot.waitedMs > 0 ? [`waited ${duration(slot.waitedMs)}`] : []),
  ].join(', ');
  const plan = slot.permitted === null ? '' : ` of ${count(Math.round(slot.permitted))} permitted`;
  return [`${startOf(slot)} UTC, ${width}`, `${count(slot.requests)} ${slot.requests === 1 ? 'request' : 'requests'}${plan}`, held].filter(
    (line) => line !== '',
  );
}

function startOf({ at }: TimelineSlot): string {
  return moment(Date.parse(at));
}

/** How long nothing ran before a slot, milliseconds, to within two slots. */
function gapBefore({ slotMs, slots }: Timeline, index: number): number {
  const [before, slot] = [slots[index - 1], slots[index]];
  return before === undefined || slot === undefined ? 0 : Date.parse(slot.at) - Date.parse(before.at) - slotMs;
}

function slotTable(timeline: Timeline, noPlan: string): string {
  const waited = (ms: number): string => (ms > 0 ? duration(ms) : '');
  const rows = timeline.slots.flatMap((slot, index) => {
    const gap = gapBefore(timeline, index);
    const row = [
      startOf(slot),
      figure(`timeline.slots.${index}.requests`, count(slot.requests)),
      slot.permitted === null ? noPlan : count(Math.round(slot.permitted)),
      waited(slot.throttledMs),
      waited(slot.downMs),
      waited(slot.waitedMs),
    ];
    return gap > 0 ? [[`nothing ran for about ${duration(gap)}`, '', '', '', '', ''], row] : [row];
  });
  const head = [`UTC, each ${duration(timeline.slotMs)}`, 'Requests', 'Plan permitted', 'Waited, "later"', 'Service down', 'Waits'];
  return numbers(head, rows, 'requests over time');
}
