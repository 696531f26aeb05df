/** The progress of a run as text: one line for a file, and lines that fit a terminal. Pure. */
import { count, duration } from '../../util/display.ts';
import { answeredKinds, kindRates, percent } from '../../writer/rates.ts';
import { plain, type Paint, type Style } from './colours.ts';
import type { HeldUp, Snapshot } from './snapshot.ts';

/** Characters of the bar, and of the bar on a narrow terminal. */
const BAR_WIDTH = 24;
const NARROW_BAR_WIDTH = 10;
/** From this size on there is room for several lines. */
const WIDE = 60;
const HIGH = 8;
/** The most characters of a job's name on a narrow terminal. */
const NARROW_NAME = 16;
const LABEL_WIDTH = 10;
const SEPARATOR = ' · ';

interface LineItem {
  readonly text: string;
  readonly style?: Style;
  /** Put before it, except at the beginning of a line; default ` · `. */
  readonly separator?: string;
  /** Where there is no room for all, parts with the highest number go first. */
  readonly rank: number;
}

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** One line with everything, for where nothing can be redrawn. */
export function progressLine(name: string, now: Snapshot): string {
  return fitted(partsOf(name, now, BAR_WIDTH), Infinity, plain);
}

/** The lines for a terminal. None fills the width, so that the terminal never wraps them; the least important parts are left out first. */
export function progressLines(name: string, now: Snapshot, { columns, rows }: TerminalSize, paint: Paint = plain): string[] {
  const room = Math.max(1, columns - 1);
  if (columns < WIDE || rows < HIGH) {
    const shown = columns < WIDE && name.length > NARROW_NAME ? `${name.slice(0, NARROW_NAME - 1)}…` : name;
    return [fitted(partsOf(shown, now, columns < WIDE ? NARROW_BAR_WIDTH : BAR_WIDTH), room, paint)];
  }
  const { head, wait, done, rate, quota, eta, outcomes, more } = piecesOf(name, now, BAR_WIDTH);
  const line = (label: string, parts: readonly LineItem[]): string[] =>
    parts.length === 0 ? [] : [paint('dim', `  ${label.padEnd(LABEL_WIDTH)}`) + fitted(parts, room - 2 - LABEL_WIDTH, paint)];
  return [
    fitted([head, ...done], room, paint),
    ...line('rate', [rate, ...quota, ...eta]),
    ...line('outcomes', [...outcomes, ...more]),
    ...line('waits for', wait),
  ];
}

/** The parts in their order that fit, the most important first. The first part is cut when even that does not fit. */
function fitted(parts: readonly LineItem[], room: number, paint: Paint): string {
  const kept = new Set<LineItem>();
  let left = room;
  for (const part of parts.toSorted((one, other) => one.rank - other.rank)) {
    const needed = part.text.length + (kept.size === 0 ? 0 : (part.separator ?? SEPARATOR).length);
    if (needed > left && kept.size > 0) continue;
    kept.add(part);
    left -= needed;
  }
  const shown = parts.filter((part) => kept.has(part));
  return shown
    .map(({ text, style, separator = SEPARATOR }, i) => {
      const cut = shown.length === 1 ? text.slice(0, room) : text;
      return (i === 0 ? '' : separator) + (style === undefined ? cut : paint(style, cut));
    })
    .join('');
}

/** Everything in one line: name, bar, share, the wait, rows, rate, quota used, ETA, outcomes. */
function partsOf(name: string, now: Snapshot, barWidth: number): LineItem[] {
  const { head, wait, done, rate, quota, eta, outcomes, more } = piecesOf(name, now, barWidth);
  const all = outcomes.map(({ text }) => text).join(' ');
  return [head, ...wait, ...done, rate, ...quota, ...eta, ...(all === '' ? [] : [{ text: all, rank: 6 }]), ...more];
}

function piecesOf(name: string, now: Snapshot, barWidth: number) {
  const { heldUp, quotaShare, etaMs, outcomes, tally, retries, throttled, verifyRequests } = now;
  return {
    head: { text: `${name} [${barOf(now, barWidth)}] ${Math.floor(now.share * 100)}%`, rank: 0, style: 'bold' } satisfies LineItem,
    wait:
      heldUp === null ? [] : [{ text: formatWait(heldUp), rank: 1, style: heldUp.by === 'outage' ? 'red' : 'yellow' } satisfies LineItem],
    done: [
      { text: formatDone(now), rank: 2 },
      ...(now.inProgress > 0 ? [{ text: `${count(now.inProgress)} in progress`, rank: 8, separator: ' + ' }] : []),
    ] satisfies LineItem[],
    rate: { text: `${count(Math.round(now.callsPerSecond))} requests/s`, rank: 4 } satisfies LineItem,
    quota: quotaShare === null ? [] : [{ text: `quota ${Math.round(quotaShare * 100)}%`, rank: 5 } satisfies LineItem],
    eta: heldUp === null && etaMs !== null && now.share < 1 ? [{ text: `ETA ${duration(etaMs)}`, rank: 3 } satisfies LineItem] : [],
    outcomes: Object.entries(outcomes)
      .filter(([, n]) => n > 0)
      .map(([outcome, n]): LineItem => {
        const style = outcome === 'failed' ? 'red' : outcome === 'matched' ? 'green' : null;
        return { text: `${outcome} ${count(n)}`, rank: 6, ...(style === null ? {} : { style }) };
      }),
    more: [
      ...apart(tally),
      ...(retries > 0 ? [`retries ${count(retries)}`] : []),
      ...(throttled.events > 0 ? [`throttled ${count(throttled.events)} (${duration(throttled.waitedMs)})`] : []),
      ...(verifyRequests === undefined
        ? []
        : [`verify ${count(verifyRequests.addresses)} a request (${count(verifyRequests.tooLarge)} too large)`]),
    ].map((text): LineItem => ({ text, rank: 7 })),
  };
}

/** People and companies apart, where there are both: of one kind the outcomes say it all. */
function apart(tally: Snapshot['tally']): string[] {
  const rates = kindRates(answeredKinds(tally));
  return rates.length < 2 ? [] : rates.map(({ kind, rate }) => `${kind} matched ${percent(rate)}`);
}

/** The settled share, then the records in progress: with verify, thousands are looked up before the first row can be written. */
function barOf({ share, done, expected, inProgress }: Snapshot, width: number): string {
  const filled = Math.round(share * width);
  const begun = expected === null || expected.records === 0 ? share : Math.min(1, (done + inProgress) / expected.records);
  const shaded = Math.max(0, Math.round(begun * width) - filled);
  return `${'█'.repeat(filled)}${'▒'.repeat(shaded)}${'░'.repeat(width - filled - shaded)}`;
}

/** Such as `1,024 of 2,500 records`. */
function formatDone({ done, expected }: Snapshot): string {
  return `${count(done)}${expected === null ? '' : ` of ${expected.isExact ? '' : 'about '}${count(expected.records)}`} records`;
}

function formatWait(held: HeldUp): string {
  const left = held.leftMs === null ? '' : `, ${duration(held.leftMs)} left`;
  switch (held.by) {
    case 'outage':
      return (
        ((held.lastLookups ?? null) === null ? 'SERVICE DOWN' : `LAST LOOKUPS FAIL (${held.lastLookups})`) +
        `, ${held.leftMs !== null && held.leftMs > 0 ? `next probe in ${duration(held.leftMs)}` : 'probing'}` +
        ` (for ${duration(held.forMs)})`
      );
    case 'throttled':
      return `THROTTLED${left}`;
    case 'quota':
      return `quota used up${left}`;
    default:
      return `waiting for ${held.what}${left}`;
  }
}

/** With verify the first rows come late: the lookups show that the work before them is not lost. */
export function soFar(rows: number, lookups: number): string {
  return `${count(rows)} rows and ${count(lookups)} lookups`;
}
