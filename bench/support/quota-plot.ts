/** Draws requests a second over time as an SVG: a panel for each limiter and rate, and in it a track for each contender. */
import type { Kind } from '../../test/limiter/services.ts';
import type { Measured } from './quota-log.ts';

export interface Panel {
  readonly kind: Kind;
  readonly rpm: number;
  readonly tracks: readonly { readonly name: string; readonly found: Measured }[];
}

const WORDS: Readonly<Record<Kind, string>> = {
  fixed: 'fixed window',
  sliding: 'sliding window',
  counter: 'sliding window of two counters',
  bucket: 'token bucket',
  gcra: 'GCRA, burst of a tenth',
};

const TRACK = { width: 400, height: 40, label: 17, gap: 6 };
const PANEL = { left: 46, right: 24, top: 34, bottom: 26 };
const HEADER = 76;
const FOOTER = 18;
const GUIDES = [100, 1_000];

/** Two colour schemes, chosen by the reader's system. Both set their own background. */
const STYLE = `
  text { font: 11px system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif; fill: #3f4754 }
  .page { fill: #ffffff } .track { fill: #f4f6f8 } .title { font-size: 15px; font-weight: 600; fill: #14181f }
  .head { font-size: 12px; font-weight: 600; fill: #14181f }
  .guide { stroke: #d3d9e0; stroke-width: 1 }
  .rate { stroke: #6b7280; stroke-width: 1; stroke-dasharray: 3 3 } .tick { font-size: 9.5px; fill: #6b7280 }
  .c0 { fill: #0d9488 } .c1 { fill: #7c5cd6 } .c2 { fill: #3b76d9 } .no { fill: #e5484d }
  text.no { fill: #c62a2f; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    text { fill: #c3cad4 } .page { fill: #0f1318 } .track { fill: #181e26 } .title, .head { fill: #f0f3f7 }
    .guide { stroke: #2c3541 } .rate { stroke: #8b95a3 } .tick { fill: #8b95a3 }
    .c0 { fill: #2cc4b2 } .c1 { fill: #a48bf0 } .c2 { fill: #6aa2f7 } .no { fill: #f26669 } text.no { fill: #ff8f91 }
  }
`;

const count = (value: number): string => value.toLocaleString('en-US');
const short = (value: number): string => String(Math.round(value * 10) / 10);

export function plot(panels: readonly Panel[], seconds: number): string {
  const columns = [...new Set(panels.map(({ rpm }) => rpm))];
  const rows = [...new Set(panels.map(({ kind }) => kind))];
  const tracks = panels[0]?.tracks ?? [];
  const width = columns.length * (PANEL.left + TRACK.width + PANEL.right);
  const panelHeight = PANEL.top + tracks.length * (TRACK.label + TRACK.height + TRACK.gap) + PANEL.bottom;
  const height = HEADER + rows.length * panelHeight + FOOTER;
  const top = Math.max(...GUIDES, ...panels.flatMap((panel) => panel.tracks.flatMap(({ found }) => total(found))));
  // Bursts are a hundred times the even rate. A square root scale shows both.
  const y = (rate: number): number => TRACK.height * Math.sqrt(rate / top);
  const drawn = panels.map((panel) => {
    const [left, above] = [
      columns.indexOf(panel.rpm) * (PANEL.left + TRACK.width + PANEL.right) + PANEL.left,
      HEADER + rows.indexOf(panel.kind) * panelHeight,
    ];
    return `<g transform="translate(${left} ${above})">\n${drawPanel(panel, seconds, y)}\n</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img"
  aria-label="Requests a second over time, by limiter, rate and contender">
<style>${STYLE}</style>
<rect class="page" width="${width}" height="${height}" rx="8"/>
<text class="title" x="${PANEL.left}" y="32">Requests a second as they came to the service, over ${count(seconds / 60)} minutes</text>
${legend(tracks.map(({ name }) => name))}
${drawn.join('\n')}
<text class="tick" x="${width - PANEL.right}" y="${height - 14}" text-anchor="end">
  across: seconds since the first request; up: requests a second, square-root scale</text>
</svg>
`;
}

const total = ({ admittedAt, refusedAt }: Measured): number[] => admittedAt.map((admitted, second) => admitted + (refusedAt[second] ?? 0));

function legend(names: readonly string[]): string {
  let x = PANEL.left;
  const entries = [
    ...names.map((name, i) => ({ mark: `c${i}`, text: `${name}, admitted` })),
    { mark: 'no', text: 'refused (429)' },
    { mark: 'rate', text: "the quota's even rate" },
  ];
  const drawn = entries.map(({ mark, text }) => {
    const at = x;
    x += 24 + text.length * 6.4 + 16;
    const sign =
      mark === 'rate'
        ? `<path class="rate" d="M${short(at)} 54h16"/>`
        : `<rect class="${mark}" x="${short(at)}" y="49" width="16" height="10" rx="2"/>`;
    return `${sign}<text x="${short(at + 22)}" y="58">${text}</text>`;
  });
  return drawn.join('\n');
}

function drawPanel({ kind, rpm, tracks }: Panel, seconds: number, y: (rate: number) => number): string {
  const x = (second: number): number => (second * TRACK.width) / seconds;
  const each = TRACK.label + TRACK.height + TRACK.gap;
  const floorOf = (track: number): number => PANEL.top + track * each + TRACK.label + TRACK.height;
  const parts = [
    ...tracks.map((_, i) => `<rect class="track" x="0" y="${floorOf(i) - TRACK.height}" width="${TRACK.width}" height="${TRACK.height}"/>`),
    `<text class="head" x="0" y="${PANEL.top - 12}">${WORDS[kind]}, ${count(rpm)} requests a minute</text>`,
  ];
  const minutes = Array.from({ length: Math.floor(seconds / 60) + 1 }, (_, minute) => minute * 60);
  for (const [i, { name, found }] of tracks.entries()) {
    const floor = floorOf(i);
    parts.push(
      ...minutes.map((second) => `<path class="guide" d="M${short(x(second))} ${floor}v${-TRACK.height}"/>`),
      ...GUIDES.flatMap((guide) => [
        `<path class="guide" d="M0 ${short(floor - y(guide))}h${TRACK.width}"/>`,
        `<text class="tick" x="-5" y="${short(floor - y(guide) + 3.5)}" text-anchor="end">${count(guide)}</text>`,
      ]),
      `<text x="0" y="${floor - TRACK.height - 5}">${name}: ${count(found.admitted)} admitted</text>`,
      `<text x="${TRACK.width}" y="${floor - TRACK.height - 5}" text-anchor="end"${found.refused > 0 ? ' class="no"' : ''}>` +
        `${found.refused === 0 ? 'no 429' : `${count(found.refused)} × 429`}</text>`,
      // Refused requests lie behind the admitted ones, so only their excess is visible.
      ...(found.refused === 0
        ? []
        : [
            area(
              'no',
              total(found).map((rate, second) => ((found.refusedAt[second] ?? 0) > 0 ? rate : 0)),
              floor,
              x,
              y,
            ),
          ]),
      area(`c${i}`, found.admittedAt, floor, x, y),
      `<path class="rate" d="M0 ${short(floor - y(rpm / 60))}h${TRACK.width}"/>`,
    );
  }
  const bottom = floorOf(tracks.length - 1);
  return [
    ...parts,
    ...minutes.map((second) => `<text class="tick" x="${short(x(second))}" y="${bottom + 15}" text-anchor="middle">${second} s</text>`),
  ].join('\n');
}

/** A step curve, one step a second, closed along the floor. Equal neighbouring steps are merged. */
function area(mark: string, rates: readonly number[], floor: number, x: (second: number) => number, y: (rate: number) => number): string {
  let path = `M0 ${floor}`;
  let height = '0';
  for (const [second, rate] of [...rates, 0].entries()) {
    const next = short(y(rate));
    if (next === height) continue;
    path += `H${short(x(second))}V${short(floor - Number(next))}`;
    height = next;
  }
  return `<path class="${mark}" d="${path}Z"/>`;
}
